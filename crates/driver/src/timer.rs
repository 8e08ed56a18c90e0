//! Sleeping to the exact instant: one kernel timer and a wheel of deadlines for each thread's event loop.
//!
//! The runtime's own timer counts in milliseconds; page times are made of dozens of short waits, so that
//! would show. This one is as exact as the kernel's timer descriptor. The event loop itself is the runtime's: bare epoll
//! or io_uring loops cost the same here to within a microsecond.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::time::{
    timerfd_create, timerfd_settime, ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
};
use tokio::io::unix::AsyncFd;

use crate::clock::{kernel_ns, Clock};
use crate::wheel::{Key, Wheel};

/// A sleeper: the serial number of its sleep, since keys are used again, and how it is woken.
struct Sleeper {
    serial: u64,
    waker: Waker,
}

struct Inner {
    clock: Cell<Clock>,
    descriptor: AsyncFd<OwnedFd>,
    /// Deadlines on the kernel's monotonic clock: the run's may yet be set.
    wheel: RefCell<Wheel<Sleeper>>,
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
            clock: Cell::new(clock),
            descriptor,
            wheel: RefCell::default(),
            armed_ns: Cell::new(u64::MAX),
            serial: Cell::new(0),
        })))
    }

    /// Wakes sleepers for ever; one task of the thread runs it.
    pub async fn run(self) -> std::io::Result<()> {
        loop {
            // Setting it anew clears the descriptor, so it is never read: readiness is told at each expiry.
            self.0.descriptor.readable().await?.clear_ready();
            self.0.armed_ns.set(u64::MAX);
            self.wake_due();
        }
    }

    /// The run's time.
    pub fn now(&self) -> u64 {
        self.0.clock.get().now()
    }

    /// The run's clock as it is now.
    pub fn clock(&self) -> Clock {
        self.0.clock.get()
    }

    /// Goes by another clock from now on; who sleeps wakes when it would have.
    pub fn set_clock(&self, clock: Clock) {
        self.0.clock.set(clock);
    }

    /// Completes at `at_ns` of the run's clock, or at once when that is past.
    pub fn sleep_until(&self, at_ns: u64) -> Sleep {
        Sleep { timer: self.clone(), at_ns, key: None, may_be_past: true }
    }

    /// As `sleep_until`, for an instant that is known to lie ahead: a time-out that is hardly ever reached.
    pub fn deadline(&self, at_ns: u64) -> Sleep {
        Sleep { timer: self.clone(), at_ns, key: None, may_be_past: false }
    }

    fn wake_due(&self) {
        let mut wheel = self.0.wheel.borrow_mut();
        wheel.advance(kernel_ns(ClockId::Monotonic), |sleeper| sleeper.waker.wake());
        let next = wheel.next();
        drop(wheel);
        if let Some(at_ns) = next {
            self.arm(at_ns);
        }
    }

    fn arm(&self, at_ns: u64) {
        let at_ns = at_ns.max(1); // zero would disarm it
        if at_ns >= self.0.armed_ns.get() {
            return;
        }
        let value = Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as _ };
        let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        if timerfd_settime(&self.0.descriptor, TimerfdTimerFlags::ABSTIME, &spec).is_ok() {
            self.0.armed_ns.set(at_ns);
        }
    }

    fn insert(&self, at_ns: u64, waker: Waker) -> (Key, u64) {
        let serial = self.0.serial.get() + 1;
        self.0.serial.set(serial);
        let at_ns = self.clock().to_monotonic(at_ns);
        let key = self.0.wheel.borrow_mut().insert(at_ns, Sleeper { serial, waker });
        self.arm(at_ns);
        (key, serial)
    }
}

/// A pause until an instant. Dropping it forgets the deadline.
pub struct Sleep {
    timer: Timer,
    at_ns: u64,
    key: Option<(Key, u64)>,
    may_be_past: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some((key, serial)) = self.key else {
            if self.may_be_past && self.timer.now() >= self.at_ns {
                return Poll::Ready(());
            }
            self.key = Some(self.timer.insert(self.at_ns, context.waker().clone()));
            return Poll::Pending;
        };
        let mut wheel = self.timer.0.wheel.borrow_mut();
        match wheel.get_mut(key).filter(|sleeper| sleeper.serial == serial) {
            None => Poll::Ready(()), // it was due and has left the wheel
            Some(sleeper) => {
                if !sleeper.waker.will_wake(context.waker()) {
                    sleeper.waker = context.waker().clone();
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((key, serial)) = self.key {
            let mut wheel = self.timer.0.wheel.borrow_mut();
            if wheel.get_mut(key).is_some_and(|sleeper| sleeper.serial == serial) {
                wheel.remove(key);
            }
        }
    }
}

/// Median lateness of short sleeps on an otherwise idle loop, in nanoseconds.
pub async fn slack_ns(timer: &Timer) -> u64 {
    let mut late = Vec::new();
    for _ in 0..20 {
        let at = timer.now() + 500_000;
        timer.sleep_until(at).await;
        late.push(timer.now().saturating_sub(at));
    }
    late.sort_unstable();
    late[late.len() / 2]
}
