//! A queueing simulation behind the same seam as a real machine.
