//! Whose wait it is: the program's, or its runtime's own.

use std::time::Duration;

use subject::{NotQuiet, Started};

use crate::{
    programs::{Lines, ask, go, launch, quiet},
    server::{Server, on_one_thread},
    time::five_minutes,
};

/// Go tells of a panic when it has stopped all other threads, for which it sleeps for a millisecond, several times.
const PANICS: &str = r#"
package main

import "time"

func main() {
	go func() {
		time.Sleep(time.Second)
		panic("told at once")
	}()
	time.Sleep(time.Hour)
}
"#;

#[test]
fn a_panic_is_over_before_time_goes_on() {
    let Some(program) = go("panics", PANICS) else { return };
    for _ in 0..5 {
        on_one_thread(async {
            let Started { mut process, listener, output: _output, .. } =
                subject::start(&launch(&[program.to_str().unwrap()])).unwrap();
            let server = Server::serve(listener);
            loop {
                match ask(&mut process, &server).await {
                    Ok(found) => {
                        let next = found.deadline.unwrap();
                        assert!(next < Duration::from_secs(2), "{found:?}");
                        process.advance(next).unwrap();
                    }
                    Err(NotQuiet::Ended { exit, .. }) => {
                        return assert_eq!(exit.to_string(), "exit code 2");
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        });
    }
}

/// As short as the sleeps of the runtime's monitor.
const NAPS: &str = r#"
package main

import (
	"fmt"
	"syscall"
	"time"
)

func main() {
	go func() {
		nap := syscall.NsecToTimespec(5_000_000)
		for i := 0; i < 400; i++ {
			syscall.Nanosleep(&nap, nil)
		}
		fmt.Println("end")
	}()
	time.Sleep(time.Hour)
}
"#;

#[test]
fn short_sleeps_of_a_program_are_its_own() {
    let Some(program) = go("naps", NAPS) else { return };
    on_one_thread(async {
        let Started { mut process, listener, output, .. } =
            subject::start(&launch(&[program.to_str().unwrap()])).unwrap();
        let (server, mut lines) = (Server::serve(listener), Lines::new(output));
        let mut passed = Duration::ZERO;
        while lines.take() == 0 {
            let next = quiet(&mut process, &server).await.deadline.unwrap();
            process.advance(next).unwrap();
            passed += next;
        }
        assert!(passed < Duration::from_secs(3600), "{passed:?}");
    });
}

/// A thread of a C library in a Go program.
const OF_C: &str = r#"
package main

/*
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static void *wait(void *nothing) {
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	puts("start"); fflush(stdout);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 300;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	puts("end"); fflush(stdout);
	return 0;
}
static void begin(void) { pthread_t thread; pthread_create(&thread, 0, wait, 0); }
*/
import "C"
import "time"

func main() {
	C.begin()
	time.Sleep(time.Hour)
}
"#;

#[test]
fn what_c_waits_for_in_a_go_program_counts() {
    let Some(program) = go("of-c", OF_C) else { return };
    five_minutes(&[program.to_str().unwrap()]);
}
