"""Workloads out of what others recorded or declared: HAR files of browsers, and OpenAPI documents."""
