"""Machines by KVM, on a host that QEMU emulates: the product's own wheel is tried where `/dev/kvm` is real.

`python -m tests.kvm` builds and boots the host, which runs `tests.kvm.inside`. It proves that functions work; its times
are those of an emulated processor, and no figures.
"""
