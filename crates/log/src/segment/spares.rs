//! Files that will become segments: filled with zeros ahead of time, or recycled.
//!
//! Nothing relies on what a spare contains: a segment gets a new random salt when it is begun.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::name::spare;
use super::options::{Durability, Prepare};
use crate::files::{FileHandle, Files, write_zeros};

/// How much is filled between two looks at whether to go on, in bytes.
const PORTION: u64 = 1 << 20;

pub(crate) struct Spare<H> {
    pub(crate) path: PathBuf,
    pub(crate) file: H,
    pub(crate) bytes: u64,
}

pub(crate) struct Spares<F: Files> {
    files: F,
    directory: PathBuf,
    sync: bool,
    next_number: u64,
    ready: Vec<Spare<F::File>>,
    worker: Option<Worker<F::File>>,
}

/// Which file to prepare.
struct Order {
    path: PathBuf,
    bytes: u64,
    sync: bool,
}

/// A thread that prepares spares, one after the other.
struct Worker<H> {
    orders: Sender<Order>,
    prepared: Receiver<io::Result<Spare<H>>>,
    ordered: bool,
    /// Ends what is being prepared.
    cancelled: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl<F: Files> Spares<F> {
    pub(crate) fn new(
        files: F,
        directory: &Path,
        next_number: u64,
        durability: Durability,
        prepare: Prepare,
    ) -> io::Result<Self> {
        let sync = durability == Durability::Fsync;
        let worker = match prepare {
            Prepare::Background => Some(Worker::start(files.clone())?),
            Prepare::InLine => None,
        };
        Ok(Self {
            files,
            directory: directory.to_owned(),
            sync,
            next_number,
            ready: Vec::new(),
            worker,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    /// The path for a spare that is about to be added.
    pub(crate) fn next_path(&mut self) -> PathBuf {
        let path = self.directory.join(spare(self.next_number));
        self.next_number += 1;
        path
    }

    pub(crate) fn add(&mut self, spare: Spare<F::File>) {
        self.ready.push(spare);
    }

    /// Has a spare prepared, unless there is one. A failure shows when it is taken.
    pub(crate) fn order(&mut self, bytes: u64, sync: bool) {
        if !self.ready.is_empty() || self.worker.as_ref().is_some_and(|worker| worker.ordered) {
            return;
        }
        let order = Order { path: self.next_path(), bytes, sync };
        match &mut self.worker {
            Some(worker) => worker.ordered = worker.orders.send(order).is_ok(),
            None => self.ready.extend(prepare(&self.files, order, || false).ok()),
        }
    }

    /// Returns a spare of at least this size.
    pub(crate) fn take(&mut self, bytes: u64) -> io::Result<Spare<F::File>> {
        let mut spare = match self.ready.pop() {
            Some(spare) => spare,
            None => self.prepared(bytes)?,
        };
        if spare.bytes < bytes
            && let Err(error) = enlarge(&mut spare, bytes)
        {
            self.ready.push(spare);
            return Err(error);
        }
        Ok(spare)
    }

    /// Waits for the spare that was ordered, or prepares one now.
    fn prepared(&mut self, bytes: u64) -> io::Result<Spare<F::File>> {
        if let Some(worker) = self.worker.as_mut().filter(|worker| worker.ordered) {
            worker.ordered = false;
            // If that failed, there may be space by now.
            if let Ok(Ok(spare)) = worker.prepared.recv() {
                return Ok(spare);
            }
        }
        let order = Order { path: self.next_path(), bytes, sync: self.sync };
        prepare(&self.files, order, || false)
    }

    /// The size of the spares that are ready, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.ready.iter().map(|spare| spare.bytes).sum()
    }

    /// Removes all spares, and the one that is being prepared.
    pub(crate) fn remove_all(&mut self) -> io::Result<()> {
        if let Some(worker) = self.worker.as_mut().filter(|worker| worker.ordered) {
            worker.ordered = false;
            self.ready.extend(worker.prepared.recv().ok().and_then(Result::ok));
        }
        for spare in std::mem::take(&mut self.ready) {
            self.files.remove(&spare.path)?;
        }
        Ok(())
    }

    /// Ends what is being prepared, and waits for the thread.
    pub(crate) fn stop(&mut self) {
        if let Some(Worker { orders, cancelled, thread, .. }) = self.worker.take() {
            cancelled.store(true, Ordering::Relaxed);
            drop(orders);
            // A panic of the thread has been printed, and there is nothing left to do for it.
            let _ = thread.join();
        }
    }
}

impl<F: Files> Drop for Spares<F> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<H: FileHandle> Worker<H> {
    fn start<F: Files<File = H>>(files: F) -> io::Result<Self> {
        let (orders, ordered) = channel();
        let (done, prepared) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let is_cancelled = Arc::clone(&cancelled);
        let thread = std::thread::Builder::new().name("log-prepare".into()).spawn(move || {
            for order in ordered {
                if done
                    .send(prepare(&files, order, || is_cancelled.load(Ordering::Relaxed)))
                    .is_err()
                {
                    break;
                }
            }
        })?;
        Ok(Self { orders, prepared, ordered: false, cancelled, thread })
    }
}

/// Creates a file that is filled with zeros, or leaves none behind.
fn prepare<F: Files>(
    files: &F,
    order: Order,
    is_cancelled: impl Fn() -> bool,
) -> io::Result<Spare<F::File>> {
    let Order { path, bytes, sync } = order;
    let file = files.create(&path)?;
    let fill = || {
        file.allocate(bytes)?;
        for from in (0..bytes).step_by(PORTION as usize) {
            if is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            write_zeros(&file, from, bytes.min(from + PORTION))?;
        }
        if sync { file.sync_data() } else { Ok(()) }
    };
    match fill() {
        Ok(()) => Ok(Spare { path, file, bytes }),
        Err(error) => {
            // The original failure is the one to report. What remains is removed at the next start.
            let _ = files.remove(&path);
            Err(error)
        }
    }
}

fn enlarge<H: FileHandle>(spare: &mut Spare<H>, bytes: u64) -> io::Result<()> {
    spare.file.allocate(bytes)?;
    write_zeros(&spare.file, spare.bytes, bytes)?;
    spare.bytes = bytes;
    Ok(())
}
