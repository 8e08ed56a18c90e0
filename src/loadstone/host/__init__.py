"""What any part may need from the machine it runs on: programs, processes, HTTP, locks. Knows no platform."""
