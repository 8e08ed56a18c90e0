"""What makes and destroys the places where services run. Knows no service."""
