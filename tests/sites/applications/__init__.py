"""Stock applications, one a file: each says what it is made with, how it is started and how it is visited."""
