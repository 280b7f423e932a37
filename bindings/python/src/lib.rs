//! The native half of the Python package `charla`: sessions on threads of their own, told of by callbacks.
//!
//! Everything that takes time runs on a tokio runtime beside the interpreter; what comes of it is handed to a Python
//! callable, which the package puts on its event loop. Values cross as JSON, in the forms of `docs/protocol.md`, so that
//! the types that Python programs see are declared once, in Python.

mod agent;
mod failure;
mod hints;
mod runtime;
mod session;
mod tool;

use charla::Wall;
use pyo3::prelude::*;

/// What the kernel holds child processes in with on this machine, as JSON.
#[pyfunction]
fn wall() -> String {
    serde_json::to_string(&Wall::look()).unwrap_or_default()
}

/// Keeps other processes of the user from looking into this one.
#[pyfunction]
fn hide_process() {
    charla::hide_process();
}

/// Ends what runs; called once, before the interpreter ends.
#[pyfunction]
fn shut_down(py: Python<'_>) {
    runtime::shut_down(py);
}

/// What the package `charla` is built on.
#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<agent::Agent>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Turn>()?;
    module.add_function(wrap_pyfunction!(wall, module)?)?;
    module.add_function(wrap_pyfunction!(hide_process, module)?)?;
    module.add_function(wrap_pyfunction!(shut_down, module)?)
}
