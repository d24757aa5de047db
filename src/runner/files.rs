//! The programs that the build made, embedded so that one file is the whole tool.

/// The compiler that built the probe, in its own words.
pub const COMPILER: &str = env!("SYSCOST_COMPILER");

/// Name and contents of what a run's directory needs. An empty one could not be built on the machine that built syscost.
pub const FILES: &[(&str, &[u8])] = &[
    ("probe", include_bytes!(concat!(env!("OUT_DIR"), "/probe"))),
    ("libsyscost_cross.so", include_bytes!(concat!(env!("OUT_DIR"), "/libsyscost_cross.so"))),
    ("tiny-static", include_bytes!(concat!(env!("OUT_DIR"), "/tiny-static"))),
    ("tiny-dynamic", include_bytes!(concat!(env!("OUT_DIR"), "/tiny-dynamic"))),
];
