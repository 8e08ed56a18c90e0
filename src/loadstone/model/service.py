"""What can be said of services of any kind: their roles, how they are tuned, and by what a web server makes its
answers.
"""

from enum import StrEnum

from loadstone.topologies.topology import EMBEDDED as EMBEDDED


class ServiceRole(StrEnum):
    """What a service is for in an application."""

    BOOKSTORE = "bookstore"
    """Gives the bookstore's pages."""
    EVENTS = "events"
    """Gives the pages of the site of events."""
    DATABASE = "database"
    """Keeps an application's data."""
    MAIL = "mail"
    """Keeps the mail, and answers over IMAP."""
    WEB = "web"
    """Gives the pages of bank, shop and support site, and their files."""
    BACKEND = "backend"
    """Stands for the application servers and databases that the web sites ask."""
    STORE = "store"
    """Keeps the pictures of the site of events."""
    CACHE = "cache"
    """Keeps answers that an application gave."""
    BALANCER = "balancer"
    """Deals users to several web servers."""
    WEBSERVER = "webserver"
    """Gives files and short answers by the mechanisms that it has."""
    DEALERSHIP = "dealership"
    """Gives the pages of the dealership."""
    GEOCODER = "geocoder"
    """Finds addresses for the site of events."""
    INFRA = "infra"
    """Back end and file store of a tile."""
    IDLE = "idle"
    """Answers heartbeats."""
    ECHO = "echo"
    """Returns every message."""
    IPERF3 = "iperf3"
    """Receives and sends for iperf3."""
    FIO = "fio"
    """Reads and writes a disk for fio."""
    COMPILE = "compile"
    """Compiles a source package."""
    WAREHOUSES = "warehouses"
    """Runs the business kernel in Java."""
    POSTGRESQL = "postgresql"
    """PostgreSQL for tools that measure databases."""


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
