//! The calls that threads were in when tracing ended: their functions and variables, by the registers with which they were left.

use crate::open_calls::OpenCalls;
use crate::stacks::Reader;
use model::{Thread, WaitCount};
use std::collections::HashMap;
use sys::bpf::Live;

/// In place of the kernel's address of the memory: any that the reader does not know yet.
const NEW_SPACE: u64 = 1;

pub fn calls(
    open: Vec<(Live, WaitCount)>,
    registers: &HashMap<i32, [u64; 4]>,
) -> (Vec<WaitCount>, Vec<Thread>) {
    let (mut live, mut rows): (Vec<Live>, Vec<WaitCount>) = open.into_iter().unzip();
    for thread in &mut live {
        let left = registers.get(&thread.pid.cast_signed());
        [thread.ip, thread.sp, thread.fp, thread.lr] = left.copied().unwrap_or_default();
        thread.space = NEW_SPACE;
    }
    let asked = live.clone();
    let reader = if live.is_empty() {
        Reader::default()
    } else {
        Reader::start().unwrap_or_default()
    };
    let named = reader.ask(move |stacks| {
        let functions = stacks.waiting(&asked);
        let variables = asked
            .iter()
            .map(|live| stacks.variable(live.process, live.argument));
        let variables: Vec<Option<String>> = variables.collect();
        (functions, variables)
    });
    let (functions, variables) = named.unwrap_or_default();
    for (row, variable) in rows.iter_mut().zip(variables) {
        if let (Some(on), Some(variable)) = (&mut row.on, variable)
            && on.starts_with("futex ")
        {
            *on += &format!(" {variable}");
        }
    }
    let mut calls = OpenCalls::new(&functions, live.iter());
    let waits = live.iter().zip(&rows);
    let waits = waits
        .map(|(live, row)| calls.wait(live, row.clone()))
        .collect();
    let threads = live.iter().zip(rows);
    let threads = threads
        .map(|(live, row)| calls.thread(live, false, row))
        .collect();
    (waits, threads)
}
