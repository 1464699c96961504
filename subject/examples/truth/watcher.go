// Handles each event of a watch with some kind of work, and says from when to when it was busy.
package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"
)

func now() int64 {
	var time syscall.Timespec
	const monotonic = 1
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&time)), 0)
	return time.Nano()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func work(line string) {
	number, err := strconv.Atoi(line)
	check(err)
	switch number % 5 {
	case 0:
		sum := []byte(line)
		for range 2000 {
			next := sha256.Sum256(sum)
			sum = next[:]
		}
	case 1:
		first, second := make(chan int), make(chan int)
		go func() {
			for value := range first {
				second <- value
			}
		}()
		for value := range 50 {
			first <- value
			<-second
		}
		close(first)
	case 2:
		file, err := os.CreateTemp("", "watcher")
		check(err)
		_, err = file.WriteString(line)
		check(err)
		check(file.Sync())
		check(file.Close())
		check(os.Remove(file.Name()))
	case 3:
		check(exec.Command("true").Run())
	case 4:
		answer, err := http.Get("http://127.0.0.1:18080/echo/" + line)
		check(err)
		check(answer.Body.Close())
	}
}

func main() {
	answer, err := http.Get("http://127.0.0.1:18080/watch")
	check(err)
	todo := make(chan string)
	go func() {
		for line := range todo {
			begin := now()
			work(line)
			fmt.Println(line, begin, now())
		}
	}()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		todo <- lines.Text()
	}
}
