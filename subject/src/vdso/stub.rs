//! The machine code that replaces the clock functions (x86-64), and the little assembler that it is
//! written in.

use crate::sys::seccomp::STUB_CALL;

/// Bytes at the end of the stub: wall word, steady word, mark.
pub(super) const WORDS: usize = 24;
/// Says that a process is already patched.
pub(super) const MARK: u64 = u64::from_le_bytes(*b"trommel1");

/// The replacement code with its entries, position-independent.
pub(super) struct Stub {
    pub code: Vec<u8>,
    /// Where in the code the power of two stands by which it divides what the machine's clocks show.
    pub slowdown: usize,
    /// Where in the code an instruction is that enters the kernel.
    pub system_call: usize,
    pub clock_gettime: u64,
    pub gettimeofday: u64,
    pub time: u64,
}

/// Clock ids (bits) that tell the date: REALTIME, REALTIME_COARSE, REALTIME_ALARM, TAI.
pub(super) const WALL_CLOCKS: u32 = 1 << 0 | 1 << 5 | 1 << 8 | 1 << 11;
/// Clock ids (bits) that tell time since some start: MONOTONIC, _RAW, _COARSE, BOOTTIME,
/// BOOTTIME_ALARM.
pub(super) const STEADY_CLOCKS: u32 = 1 << 1 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 9;

impl Stub {
    pub fn assemble() -> Stub {
        let mut code = Assembly::default();
        // int clock_gettime(edi = clock, rsi = timespec *)
        let clock_gettime = code.here();
        code.bytes(&[0x41, 0xb9]).bytes(&STUB_CALL.to_le_bytes()); // r9d = …: this one is not reported
        code.bytes(&[0xb8, 0xe4, 0, 0, 0, 0x0f, 0x05]); // eax = 228; syscall
        let system_call = code.code.len() - 2;
        code.bytes(&[0x85, 0xc0]); // test eax, eax
        code.branch(0x75, "end"); // jnz: the error is returned as it is
        code.bytes(&[0x83, 0xff, 11]); // cmp edi, 11
        code.branch(0x77, "end"); // ja: CPU clocks of other processes are "negative"
        code.bytes(&[0xb9]).bytes(&WALL_CLOCKS.to_le_bytes()); // ecx = …
        code.bytes(&[0x0f, 0xa3, 0xf9]); // bt ecx, edi
        code.branch(0x72, "wall"); // jc
        code.bytes(&[0xb9]).bytes(&STEADY_CLOCKS.to_le_bytes());
        code.bytes(&[0x0f, 0xa3, 0xf9]);
        code.branch(0x73, "end"); // jnc: CPU time is nobody's offset
        code.bytes(&[0x48, 0x8b, 0x15]).word(8); // rdx = [steady]
        code.branch(0xeb, "add");
        code.label("wall");
        code.bytes(&[0x48, 0x8b, 0x15]).word(0); // rdx = [wall]
        code.label("add");
        code.bytes(&[0x48, 0x69, 0x06]).bytes(&1_000_000_000u32.to_le_bytes()); // rax = seconds * 10⁹
        code.bytes(&[0x48, 0x03, 0x46, 0x08]); // rax += nanoseconds
        code.bytes(&[0x48, 0xc1, 0xf8, 0]); // rax >>= slowdown
        let slowdown = code.code.len() - 1;
        code.bytes(&[0x48, 0x01, 0xd0]); // rax += rdx
        code.bytes(&[0x48, 0x99]); // sign into rdx
        code.bytes(&[0x48, 0xc7, 0xc1]).bytes(&1_000_000_000u32.to_le_bytes()); // rcx = 10⁹
        code.bytes(&[0x48, 0xf7, 0xf9]); // rax, rdx = rax / rcx, rax % rcx
        code.bytes(&[0x48, 0x85, 0xd2]); // test rdx, rdx
        code.branch(0x79, "whole"); // jns
        code.bytes(&[0x48, 0x01, 0xca]); // rdx += 10⁹
        code.bytes(&[0x48, 0xff, 0xc8]); // rax -= 1
        code.label("whole");
        code.bytes(&[0x48, 0x89, 0x06]); // seconds = rax
        code.bytes(&[0x48, 0x89, 0x56, 0x08]); // nanoseconds = rdx
        code.bytes(&[0x31, 0xc0]); // return 0
        code.label("end");
        code.bytes(&[0xc3]);
        code.align();
        // int gettimeofday(rdi = timeval *, rsi = timezone *): the timeval serves as timespec
        // meanwhile.
        let gettimeofday = code.here();
        code.bytes(&[0x48, 0x85, 0xff]); // test rdi, rdi
        code.branch(0x74, "zone"); // jz
        code.bytes(&[0x57, 0x56]); // push rdi; push rsi
        code.bytes(&[0x48, 0x89, 0xfe]); // rsi = rdi
        code.bytes(&[0x31, 0xff]); // edi = CLOCK_REALTIME
        code.call(clock_gettime);
        code.bytes(&[0x5e, 0x5f]); // pop rsi; pop rdi
        code.bytes(&[0x48, 0x8b, 0x47, 0x08]); // rax = nanoseconds
        code.bytes(&[0x31, 0xd2]); // rdx = 0
        code.bytes(&[0xb9]).bytes(&1000u32.to_le_bytes()); // ecx = 1000
        code.bytes(&[0x48, 0xf7, 0xf1]); // rax /= rcx
        code.bytes(&[0x48, 0x89, 0x47, 0x08]); // microseconds = rax
        code.label("zone");
        code.bytes(&[0x31, 0xc0]); // eax = 0
        code.bytes(&[0x48, 0x85, 0xf6]); // test rsi, rsi
        code.branch(0x74, "done"); // jz
        code.bytes(&[0x31, 0xff]); // rdi = 0
        code.bytes(&[0xb8, 0x60, 0, 0, 0, 0x0f, 0x05]); // gettimeofday(0, zone)
        code.label("done");
        code.bytes(&[0xc3]);
        code.align();
        // time_t time(rdi = time_t *)
        let time = code.here();
        code.bytes(&[0x57]); // push rdi
        code.bytes(&[0x48, 0x83, 0xec, 0x10]); // room for a timespec
        code.bytes(&[0x48, 0x89, 0xe6]); // rsi = rsp
        code.bytes(&[0x31, 0xff]); // CLOCK_REALTIME
        code.call(clock_gettime);
        code.bytes(&[0x48, 0x8b, 0x04, 0x24]); // rax = seconds
        code.bytes(&[0x48, 0x83, 0xc4, 0x10, 0x5f]); // drop it; pop rdi
        code.bytes(&[0x48, 0x85, 0xff]); // test rdi, rdi
        code.branch(0x74, "told"); // jz
        code.bytes(&[0x48, 0x89, 0x07]); // [rdi] = rax
        code.label("told");
        code.bytes(&[0xc3]);
        code.align();
        Stub { code: code.finish(), slowdown, system_call, clock_gettime, gettimeofday, time }
    }
}

/// Just enough of an assembler: short branches to named places, and loads from the words at the
/// end.
#[derive(Default)]
struct Assembly {
    code: Vec<u8>,
    labels: Vec<(&'static str, usize)>,
    branches: Vec<(usize, &'static str)>,
    words: Vec<(usize, usize)>,
}

impl Assembly {
    fn here(&self) -> u64 {
        self.code.len() as u64
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Assembly {
        self.code.extend_from_slice(bytes);
        self
    }

    fn branch(&mut self, opcode: u8, label: &'static str) {
        self.code.extend([opcode, 0]);
        self.branches.push((self.code.len() - 1, label));
    }

    fn label(&mut self, label: &'static str) {
        self.labels.push((label, self.code.len()));
    }

    fn call(&mut self, to: u64) {
        let distance = to as i32 - (self.code.len() as i32 + 5);
        self.bytes(&[0xe8]).bytes(&distance.to_le_bytes());
    }

    /// The address, relative to the next instruction, of the word `offset` bytes into the words.
    fn word(&mut self, offset: usize) {
        self.words.push((self.code.len(), offset));
        self.code.extend([0; 4]);
    }

    fn align(&mut self) {
        while !self.code.len().is_multiple_of(16) {
            self.code.push(0xcc);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let words = self.code.len();
        for (at, label) in &self.branches {
            let target =
                self.labels.iter().find(|(known, _)| known == label).map_or(0, |found| found.1);
            self.code[*at] =
                i8::try_from(target as i64 - (*at as i64 + 1)).expect("a near label") as u8;
        }
        for (at, offset) in &self.words {
            let distance = (words + offset) as i32 - (*at as i32 + 4);
            self.code[*at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.code.extend([0; 16]);
        self.code.extend(MARK.to_le_bytes());
        self.code
    }
}
