//! Sleeping to the exact instant: one kernel timer and a heap of deadlines for each thread's event loop.
//!
//! The runtime's own timer counts in milliseconds; page times are made of dozens of short waits, so that
//! would show. This one is as exact as the kernel's timer descriptor.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::time::{
    timerfd_create, timerfd_settime, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
};
use slab::Slab;
use tokio::io::unix::AsyncFd;

use crate::clock::Clock;

struct Entry {
    waker: Option<Waker>,
    serial: u64,
}

struct Inner {
    clock: Clock,
    descriptor: AsyncFd<OwnedFd>,
    heap: RefCell<BinaryHeap<Reverse<(u64, usize, u64)>>>,
    entries: RefCell<Slab<Entry>>,
    armed_ns: Cell<u64>,
    serial: Cell<u64>,
}

/// Handle of a thread's timer; cheap to copy within the thread.
#[derive(Clone)]
pub struct Timer(Rc<Inner>);

impl Timer {
    /// Must be called inside the thread's runtime.
    pub fn new(clock: Clock) -> std::io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: an OwnedFd always names the same open descriptor, and the AsyncFd owns it from here on.
        let descriptor = unsafe { AsyncFd::register(descriptor) }?;
        Ok(Timer(Rc::new(Inner {
            clock,
            descriptor,
            heap: RefCell::default(),
            entries: RefCell::default(),
            armed_ns: Cell::new(u64::MAX),
            serial: Cell::new(0),
        })))
    }

    /// Wakes sleepers for ever; one task of the thread runs it.
    pub async fn run(self) -> std::io::Result<()> {
        loop {
            let mut ready = self.0.descriptor.readable().await?;
            let mut count = [0u8; 8];
            let _ = rustix::io::read(&self.0.descriptor, &mut count); // EAGAIN: a stale wake-up
            ready.clear_ready();
            self.0.armed_ns.set(u64::MAX);
            self.wake_due();
        }
    }

    /// Completes at `at_ns` of the run's clock, or at once when that is past.
    pub fn sleep_until(&self, at_ns: u64) -> Sleep {
        Sleep { timer: self.clone(), at_ns, key: None }
    }

    fn wake_due(&self) {
        let now = self.0.clock.now();
        let mut heap = self.0.heap.borrow_mut();
        let mut entries = self.0.entries.borrow_mut();
        while let Some(&Reverse((at_ns, key, serial))) = heap.peek() {
            let live = entries.get_mut(key).filter(|entry| entry.serial == serial);
            match live {
                Some(_) if at_ns > now => break,
                Some(entry) => {
                    if let Some(waker) = entry.waker.take() {
                        waker.wake();
                    }
                }
                None => {}
            }
            heap.pop();
        }
        let next = heap.peek().map(|Reverse((at_ns, _, _))| *at_ns);
        drop((heap, entries));
        if let Some(at_ns) = next {
            self.arm(at_ns);
        }
    }

    fn arm(&self, at_ns: u64) {
        if at_ns >= self.0.armed_ns.get() {
            return;
        }
        let at = self.0.clock.to_monotonic(at_ns).max(1);
        let value = Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as _ };
        let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        if timerfd_settime(&self.0.descriptor, TimerfdTimerFlags::ABSTIME, &spec).is_ok() {
            self.0.armed_ns.set(at_ns);
        }
    }

    fn insert(&self, at_ns: u64, waker: Waker) -> (usize, u64) {
        let serial = self.0.serial.get() + 1;
        self.0.serial.set(serial);
        let key = self.0.entries.borrow_mut().insert(Entry { waker: Some(waker), serial });
        self.0.heap.borrow_mut().push(Reverse((at_ns, key, serial)));
        self.arm(at_ns);
        (key, serial)
    }
}

/// A pause until an instant. Dropping it forgets the deadline.
pub struct Sleep {
    timer: Timer,
    at_ns: u64,
    key: Option<(usize, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.timer.0.clock.now() >= self.at_ns {
            return Poll::Ready(());
        }
        match self.key {
            None => self.key = Some(self.timer.insert(self.at_ns, context.waker().clone())),
            Some((key, _)) => {
                if let Some(entry) = self.timer.0.entries.borrow_mut().get_mut(key) {
                    entry.waker = Some(context.waker().clone());
                }
            }
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((key, _)) = self.key {
            self.timer.0.entries.borrow_mut().try_remove(key);
        }
    }
}

/// Median lateness of short sleeps on an otherwise idle loop, in nanoseconds.
pub async fn slack_ns(timer: &Timer) -> u64 {
    let mut late = Vec::new();
    for _ in 0..20 {
        let at = timer.0.clock.now() + 500_000;
        timer.sleep_until(at).await;
        late.push(timer.0.clock.now().saturating_sub(at));
    }
    late.sort_unstable();
    late[late.len() / 2]
}
