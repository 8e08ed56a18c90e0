"""What makes and destroys the machines where services run. Knows no service."""
