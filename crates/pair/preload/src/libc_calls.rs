//! Functions and variables by their names: the C library's behind ours, and QEMU's own.

use std::ffi::{c_char, c_int, c_void, CStr};

/// A stream's functions, as fopencookie(3) takes them.
#[repr(C)]
pub struct CookieFunctions {
    pub read: Option<unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> isize>,
    pub write: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize>,
    pub seek: Option<unsafe extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int>,
    pub close: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

extern "C" {
    /// Makes a stream of functions.
    pub fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: CookieFunctions) -> *mut libc::FILE;
}

/// The function of this name in the libraries after ours.
///
/// # Safety
///
/// `F` must be the type of a pointer to that function.
pub unsafe fn next<F>(name: &CStr) -> Option<F> {
    unsafe { found(libc::RTLD_NEXT, name) }
}

/// Whether the program has anything of this name.
pub fn is_there(name: &CStr) -> bool {
    // SAFETY: an address that is not used.
    unsafe { found::<*mut c_void>(libc::RTLD_DEFAULT, name) }.is_some()
}

/// A function of the program.
///
/// # Safety
///
/// As `next`.
pub unsafe fn function<F>(name: &CStr) -> Option<F> {
    unsafe { found(libc::RTLD_DEFAULT, name) }
}

/// A function of the program that tells whether something is so.
///
/// # Safety
///
/// It must be one.
pub unsafe fn call(name: &CStr) -> Option<unsafe extern "C" fn() -> bool> {
    unsafe { function(name) }
}

/// A variable of the program.
///
/// # Safety
///
/// `T` must be its type, or that of a part of it at `offset`.
pub unsafe fn variable<T>(name: &CStr, offset: usize) -> Option<*mut T> {
    let base: *mut u8 = unsafe { found(libc::RTLD_DEFAULT, name) }?;
    Some(unsafe { base.add(offset) }.cast())
}

unsafe fn found<F>(whence: *mut c_void, name: &CStr) -> Option<F> {
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    let address = unsafe { libc::dlsym(whence, name.as_ptr()) };
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}
