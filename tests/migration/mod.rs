//! The move from v1 to v2 as an operator and authors of clients see it.

mod board;
mod counted;
mod front;
mod replaced;
mod retired;
mod shown;
