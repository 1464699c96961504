// Stands in for a database: with "wait" it runs until it is told to end; without, it has done its work at once.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "wait" {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
		<-told
	}
}
