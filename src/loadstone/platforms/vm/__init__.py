"""Virtual machines: QEMU as a child process, under its machine protocol, with our agent inside."""
