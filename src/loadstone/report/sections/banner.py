"""What must be known before anything else: how far the run got, whether it is what was measured, what was emulated."""

from collections.abc import Iterator

from loadstone.model.records.status import Status
from loadstone.page.blocks import Block, Paragraph, Tone
from loadstone.report.section import ReportContext, ReportSection
from loadstone.store.folder import SealState

EMULATED_WARNING = (
    "QEMU translated every instruction of the virtual machines. The figures show that the set-up works, "
    "not what virtualization costs with KVM."
)

ANOTHER = "another measurement was running on this machine when this one started; each disturbs the other."


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """Warnings, where there are any."""
    manifest, seal = context.result.manifest, context.seal
    target = f"against {manifest.target}"
    yield Paragraph(
        f"{manifest.started[:19].replace('T', ' ')} UTC, profile {manifest.profile.name}, {target}; seal {seal.state}",
        Tone.QUIET,
    )
    if manifest.status is not Status.COMPLETE:
        yield Paragraph(manifest.reason or "it did not finish", Tone.INVALID, f"{manifest.status}:")
    if seal.state is SealState.BROKEN:
        yield Paragraph(f"modified after the measurement: {', '.join(seal.changed)}", Tone.FAIL, "Broken seal:")
    if context.verdict_note:
        yield Paragraph(context.verdict_note, Tone.INVALID, "Verdict:")
    if not manifest.was_alone:
        yield Paragraph(ANOTHER, Tone.INVALID, "Not alone:")
    if manifest.emulated:
        yield Paragraph(EMULATED_WARNING, Tone.ALARM, "Emulated by TCG, not KVM")
    for notice in manifest.notices:
        yield Paragraph(notice, Tone.QUIET)
    if not manifest.verify_certificates:
        yield Paragraph("Certificates were not verified.", Tone.INVALID)


SECTION = ReportSection(rank=10, of_result=render_blocks)
