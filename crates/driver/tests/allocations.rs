//! In steady state a request allocates nothing: counted by an allocator that counts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use common::{counted, plan, play, population, server};
use serde_json::json;

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is the system allocator's work; counting touches no memory it hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout);
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        System.realloc(memory, layout, size)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 68\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\
    Set-Cookie: a=b\r\n\r\n<html><title>A page</title><body>loadstone and something more</body>";

#[test]
fn a_request_allocates_nothing() {
    let address = server(|mut stream| {
        let mut piece = [0; 4096];
        while let Ok(1..) = stream.read(&mut piece) {
            if stream.write_all(ANSWER).is_err() {
                return;
            }
        }
    });
    let cost = |seconds: f64| {
        let mut plan = plan(address, population(8), seconds);
        plan["parts"][0]["workload"]["operations"][0]["expect"]["title"] = json!("A page");
        plan["parts"][0]["workload"]["operations"][0]["expect"]["bytes"] = json!("68");
        plan["parts"][0]["workload"]["pacing"]["mean_ns"] = json!(0);
        let before = COUNT.load(Ordering::Relaxed);
        let (requests, errors) = counted(&play(plan));
        assert!(errors.is_empty(), "{errors:?}");
        (COUNT.load(Ordering::Relaxed) - before, requests)
    };
    // A run has a beginning, an end, and seconds that are written down; what more requests add is what they cost.
    let (short, long) = (cost(1.0), cost(4.0));
    let (allocations, requests) = (long.0.saturating_sub(short.0), long.1.saturating_sub(short.1));
    let each = allocations as f64 / requests as f64;
    assert!(requests > 5_000 && each < 0.1, "{allocations} allocations for {requests} requests");
}
