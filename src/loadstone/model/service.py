"""What can be said of services of any kind: how they are tuned, and by what a web server makes its answers."""

from enum import StrEnum


class Tuning(StrEnum):
    """Settings of services, declared beside each other in the module of each."""

    DEFAULT = "default"
    """As the distribution's package has them."""
    TUNED = "tuned"
    """For many users."""


class Mechanism(StrEnum):
    """By what a web server makes its answers."""

    STATIC = "static"
    """From files."""
    MODULE = "module"
    """In the server's own process."""
    SERVLET = "servlet"
    C_CGI = "c-cgi"
    """By a program in C, started for each request."""
    PERL_CGI = "perl-cgi"
    PHP_FASTCGI = "php-fastcgi"
    PHP_MODULE = "php-module"
