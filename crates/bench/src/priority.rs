//! How urgent a thread is, on a machine where load and server share the processors.
//!
//! On Linux, threads have priorities. Elsewhere, only whole processes do, and nothing is changed.

/// Lets the calling thread run only when nobody else wants to.
pub(crate) fn lower() {
    set(19);
}

/// Lets the calling thread, and those that it starts, run before all others until this is dropped. Without
/// the right to, nothing changes.
pub(crate) struct Raised {
    before: Option<i32>,
}

impl Raised {
    pub fn new() -> Self {
        let before = get();
        set(-20);
        Self { before }
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            set(before);
        }
    }
}

#[cfg(target_os = "linux")]
fn get() -> Option<i32> {
    rustix::process::getpriority_process(None).ok()
}

#[cfg(target_os = "linux")]
fn set(nice: i32) {
    let _ = rustix::process::setpriority_process(None, nice);
}

#[cfg(not(target_os = "linux"))]
fn get() -> Option<i32> {
    None
}

#[cfg(not(target_os = "linux"))]
fn set(_: i32) {}
