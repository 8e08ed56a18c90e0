//! What a machine says of its own use: everything that only grows, and what simply is. Rates are the laboratory's task.

use anyhow::Result;
use procfs::{Current, CurrentSI, KernelStats, Meminfo};
use serde_json::{json, Value};

use super::system::unix_ns;

/// Bytes of a sector, whatever the disk's own are (Linux, `Documentation/admin-guide/iostats.rst`).
const SECTOR_BYTES: u64 = 512;

/// Counters under the names that the laboratory's own monitor uses.
pub fn look() -> Result<Value> {
    let cpu = KernelStats::current()?;
    let ticks = procfs::ticks_per_second() as f64;
    let seconds = |value: u64| value as f64 / ticks;
    let total = &cpu.total;
    Ok(json!({
        "unix_ns": unix_ns(),
        "cores": cpu.cpu_time.len(),
        "cpu": {
            "user": seconds(total.user), "nice": seconds(total.nice), "system": seconds(total.system),
            "idle": seconds(total.idle), "iowait": seconds(total.iowait.unwrap_or(0)),
            "irq": seconds(total.irq.unwrap_or(0)), "softirq": seconds(total.softirq.unwrap_or(0)),
            "steal": seconds(total.steal.unwrap_or(0)),
        },
        "memory": memory()?,
        "swap": swap()?,
        "disk": disk()?,
        "network": network()?,
    }))
}

fn memory() -> Result<Value> {
    let held = Meminfo::current()?;
    let available = held.mem_available.unwrap_or(held.mem_free);
    Ok(json!({
        "total": held.mem_total, "available": available, "used": held.mem_total.saturating_sub(available),
        "active": held.active, "inactive": held.inactive, "cached": held.cached,
    }))
}

fn swap() -> Result<Value> {
    let counts = procfs::vmstat()?;
    let bytes = |name: &str| counts.get(name).copied().unwrap_or(0) * procfs::page_size() as i64;
    Ok(json!({ "sin": bytes("pswpin"), "sout": bytes("pswpout") }))
}

fn disk() -> Result<Value> {
    let disks = procfs::diskstats()?;
    let whole: Vec<_> = disks.iter().filter(|disk| is_whole(&disk.name)).collect();
    let sum = |of: fn(&procfs::DiskStat) -> u64| whole.iter().map(|disk| of(disk)).sum::<u64>();
    Ok(json!({
        "read_count": sum(|disk| disk.reads), "write_count": sum(|disk| disk.writes),
        "read_bytes": sum(|disk| disk.sectors_read) * SECTOR_BYTES,
        "write_bytes": sum(|disk| disk.sectors_written) * SECTOR_BYTES,
        "read_time": sum(|disk| disk.time_reading), "write_time": sum(|disk| disk.time_writing),
    }))
}

/// Whether it is a disk, not a part of one.
fn is_whole(name: &str) -> bool {
    std::path::Path::new("/sys/block").join(name).exists() && !name.starts_with("loop") && !name.starts_with("ram")
}

fn network() -> Result<Value> {
    let devices = procfs::net::dev_status()?;
    let ours: Vec<_> = devices.values().filter(|device| device.name != "lo").collect();
    let sum = |of: fn(&procfs::net::DeviceStatus) -> u64| ours.iter().map(|device| of(device)).sum::<u64>();
    Ok(json!({
        "bytes_sent": sum(|device| device.sent_bytes), "bytes_recv": sum(|device| device.recv_bytes),
        "dropin": sum(|device| device.recv_drop), "dropout": sum(|device| device.sent_drop),
    }))
}
