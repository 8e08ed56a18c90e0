"""One server program in one role: how it is called and what it says when it is ready. Knows no platform."""
