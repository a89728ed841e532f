//! The one file that calls HiGHS' C interface.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

use highs::{Model, RowProblem, Sense};
use highs_sys as sys;

/// A call to HiGHS failed: a fault of the model's maker, of the file system or of HiGHS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HiGHS failed in {call}{}", detail.as_ref().map(|d| format!(" ({d})")).unwrap_or_default())]
pub struct Fault {
    /// The function that failed.
    pub call: &'static str,
    /// What it was about.
    pub detail: Option<String>,
}

/// The version of HiGHS, such as `1.15.0`.
pub fn version() -> String {
    // SAFETY: the three functions take nothing and return a number.
    let [major, minor, patch] =
        unsafe { [sys::Highs_versionMajor(), sys::Highs_versionMinor(), sys::Highs_versionPatch()] };
    format!("{major}.{minor}.{patch}")
}

/// What HiGHS says of a model after a run; the numbers are those of its C interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelStatus {
    Optimal,
    Infeasible,
    TimeLimit,
    Interrupted,
    /// Another limit, or trouble.
    Other,
}

/// Told, from any thread, the best solution's objective (infinite without one) and the dual bound; answers whether to
/// go on.
pub(super) type Watcher<'a> = dyn Fn(f64, f64) -> bool + Sync + 'a;

/// One instance of HiGHS and the model it holds.
pub(super) struct Handle {
    model: Model,
    threads: c_int,
}

thread_local! {
    /// Size of HiGHS' pool of workers for this thread; 0 before there is one.
    static POOL_SIZE: Cell<c_int> = const { Cell::new(0) };
}

/// Option values of the types that HiGHS knows.
#[derive(Debug, Clone, Copy)]
pub(super) enum OptionValue {
    Int(i32),
    Double(f64),
}

impl Handle {
    /// An empty model to minimise.
    pub fn empty() -> Result<Self, Fault> {
        Self::of(RowProblem::default().optimise(Sense::Minimise))
    }

    /// Takes over a model made by good_lp or by the `highs` crate.
    pub fn of(mut model: Model) -> Result<Self, Fault> {
        model.make_quiet();
        let mut handle = Self { model, threads: 1 };
        handle.set_threads(1)?;
        Ok(handle)
    }

    fn raw(&mut self) -> *mut c_void {
        self.model.as_mut_ptr()
    }

    pub fn set_option(&mut self, name: &'static CStr, value: OptionValue) -> Result<(), Fault> {
        // SAFETY: the handle is valid as long as the model lives, the name is a C string.
        let status = unsafe {
            match value {
                OptionValue::Int(number) => sys::Highs_setIntOptionValue(self.raw(), name.as_ptr(), number),
                OptionValue::Double(number) => sys::Highs_setDoubleOptionValue(self.raw(), name.as_ptr(), number),
            }
        };
        succeeded(status, "Highs_setOptionValue", || format!("{name:?} = {value:?}"))
    }

    pub fn set_threads(&mut self, threads: usize) -> Result<(), Fault> {
        self.threads = threads.clamp(1, 1024) as c_int;
        self.set_option(c"threads", OptionValue::Int(self.threads))
    }

    pub fn column_count(&self) -> usize {
        self.model.num_cols()
    }

    pub fn row_count(&self) -> usize {
        self.model.num_rows()
    }

    pub fn name_column(&mut self, column: usize, name: &str) -> Result<(), Fault> {
        let text = c_string(name, "Highs_passColName")?;
        // SAFETY: HiGHS checks the index and copies the name.
        let status = unsafe { sys::Highs_passColName(self.raw(), column as c_int, text.as_ptr()) };
        succeeded(status, "Highs_passColName", || name.into())
    }

    pub fn name_row(&mut self, row: usize, name: &str) -> Result<(), Fault> {
        let text = c_string(name, "Highs_passRowName")?;
        // SAFETY: HiGHS checks the index and copies the name.
        let status = unsafe { sys::Highs_passRowName(self.raw(), row as c_int, text.as_ptr()) };
        succeeded(status, "Highs_passRowName", || name.into())
    }

    /// Gives HiGHS values of some columns to start from; it completes them.
    pub fn set_start(&mut self, entries: &[(usize, f64)]) -> Result<(), Fault> {
        let (index, values) = parted(entries);
        // SAFETY: both arrays hold as many entries as is said; HiGHS checks the indices.
        let status =
            unsafe { sys::Highs_setSparseSolution(self.raw(), index.len() as c_int, index.as_ptr(), values.as_ptr()) };
        succeeded(status, "Highs_setSparseSolution", || format!("{} values", entries.len()))
    }

    /// Takes the place of the model with one from a file, `.mps` or `.lp`.
    pub fn read_model(&mut self, path: &Path) -> Result<(), Fault> {
        let name = c_string(&path.to_string_lossy(), "Highs_readModel")?;
        // SAFETY: the handle is valid and the name a C string.
        let status = unsafe { sys::Highs_readModel(self.raw(), name.as_ptr()) };
        succeeded(status, "Highs_readModel", || path.display().to_string())
    }

    /// Writes the model; the ending of the name, `.mps` or `.lp`, gives the format.
    pub fn write_model(&mut self, path: &Path) -> Result<(), Fault> {
        let name = c_string(&path.to_string_lossy(), "Highs_writeModel")?;
        // SAFETY: the handle is valid and the name a C string.
        let status = unsafe { sys::Highs_writeModel(self.raw(), name.as_ptr()) };
        succeeded(status, "Highs_writeModel", || path.display().to_string())
    }

    /// Writes the solution in HiGHS' own format.
    pub fn write_solution(&mut self, path: &Path) -> Result<(), Fault> {
        let name = c_string(&path.to_string_lossy(), "Highs_writeSolution")?;
        // SAFETY: the handle is valid and the name a C string.
        let status = unsafe { sys::Highs_writeSolution(self.raw(), name.as_ptr()) };
        succeeded(status, "Highs_writeSolution", || path.display().to_string())
    }

    /// Solves the model. `watcher` is told of the search for integer solutions and may end it.
    pub fn run(&mut self, watcher: &Watcher) -> Result<ModelStatus, Fault> {
        // HiGHS keeps one pool of workers for each thread that calls it, and refuses to run with one of another size.
        if POOL_SIZE.replace(self.threads) != self.threads {
            // SAFETY: no run is going on in this thread.
            unsafe { sys::Highs_resetGlobalScheduler(1) };
        }
        // Time limits are for each run by itself.
        // SAFETY: the handle is valid.
        unsafe { sys::Highs_zeroAllClocks(self.raw()) };
        match self.run_watched(watcher)? {
            // Numbers that it cannot cope with are no fault of the program.
            sys::STATUS_ERROR => Ok(ModelStatus::Other),
            _ => Ok(self.status()),
        }
    }

    fn run_watched(&mut self, mut watcher: &Watcher) -> Result<c_int, Fault> {
        let data: *mut &Watcher = &mut watcher;
        // SAFETY: `data` outlives the run, and the callbacks are stopped before this function returns. HiGHS passes
        // `data` to `on_event` alone, which reads a shared reference from it.
        unsafe {
            succeeded(
                sys::Highs_setCallback(self.raw(), Some(on_event), data.cast()),
                "Highs_setCallback",
                String::new,
            )?;
            sys::Highs_startCallback(self.raw(), sys::kHighsCallbackMipInterrupt);
            let status = sys::Highs_run(self.raw());
            sys::Highs_stopCallback(self.raw(), sys::kHighsCallbackMipInterrupt);
            Ok(status)
        }
    }

    pub fn status(&mut self) -> ModelStatus {
        // SAFETY: the handle is valid.
        match unsafe { sys::Highs_getModelStatus(self.raw()) } {
            sys::MODEL_STATUS_OPTIMAL | sys::MODEL_STATUS_MODEL_EMPTY => ModelStatus::Optimal,
            sys::MODEL_STATUS_INFEASIBLE => ModelStatus::Infeasible,
            sys::MODEL_STATUS_REACHED_TIME_LIMIT => ModelStatus::TimeLimit,
            sys::MODEL_STATUS_REACHED_INTERRUPT => ModelStatus::Interrupted,
            _ => ModelStatus::Other,
        }
    }

    /// A figure of the last run, by HiGHS' name for it.
    pub fn info(&mut self, name: &'static CStr) -> Result<f64, Fault> {
        let mut value = 0.0;
        // SAFETY: `value` lives through the call.
        let status = unsafe { sys::Highs_getDoubleInfoValue(self.raw(), name.as_ptr(), &raw mut value) };
        succeeded(status, "Highs_getDoubleInfoValue", || format!("{name:?}"))?;
        Ok(value)
    }

    /// A count of the last run, by HiGHS' name for it.
    pub fn count(&mut self, name: &'static CStr) -> Result<i64, Fault> {
        let mut value = 0;
        // SAFETY: `value` lives through the call.
        let status = unsafe { sys::Highs_getInt64InfoValue(self.raw(), name.as_ptr(), &raw mut value) };
        succeeded(status, "Highs_getInt64InfoValue", || format!("{name:?}"))?;
        Ok(value)
    }

    /// Whether the last run left a feasible solution.
    pub fn is_feasible(&mut self) -> Result<bool, Fault> {
        let mut value = 0;
        // SAFETY: `value` lives through the call.
        let status =
            unsafe { sys::Highs_getIntInfoValue(self.raw(), c"primal_solution_status".as_ptr(), &raw mut value) };
        succeeded(status, "Highs_getIntInfoValue", String::new)?;
        Ok(value == sys::SOLUTION_STATUS_FEASIBLE)
    }

    /// The values of the columns.
    pub fn solution(&mut self) -> Result<Vec<f64>, Fault> {
        let mut columns = vec![0.0; self.column_count()];
        let mut column_duals = columns.clone();
        let mut rows = vec![0.0; self.row_count()];
        let mut row_duals = rows.clone();
        // SAFETY: each array has as many places as HiGHS fills: one per column or row.
        let status = unsafe {
            sys::Highs_getSolution(
                self.raw(),
                columns.as_mut_ptr(),
                column_duals.as_mut_ptr(),
                rows.as_mut_ptr(),
                row_duals.as_mut_ptr(),
            )
        };
        succeeded(status, "Highs_getSolution", String::new)?;
        Ok(columns)
    }
}

/// Passes what HiGHS tells to the watcher behind `data`, and its answer back.
unsafe extern "C" fn on_event(
    _event: c_int,
    _message: *const c_char,
    out: *const sys::HighsCallbackDataOut,
    input: *mut sys::HighsCallbackDataIn,
    data: *mut c_void,
) {
    // SAFETY: `data` is what `run_watched` passed; `out` and `input` are valid during the call, and `input` ours to write.
    unsafe {
        let go_on = (*data.cast::<&Watcher>())((*out).mip_primal_bound, (*out).mip_dual_bound);
        (*input).user_interrupt = (!go_on).into();
    }
}

fn parted(entries: &[(usize, f64)]) -> (Vec<c_int>, Vec<f64>) {
    entries.iter().map(|&(index, value)| (index as c_int, value)).unzip()
}

fn c_string(text: &str, call: &'static str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| Fault { call, detail: Some(format!("{text:?} holds a zero byte")) })
}

fn succeeded(status: c_int, call: &'static str, detail: impl FnOnce() -> String) -> Result<(), Fault> {
    if status == sys::STATUS_ERROR {
        return Err(Fault { call, detail: Some(detail()).filter(|d| !d.is_empty()) });
    }
    Ok(())
}
