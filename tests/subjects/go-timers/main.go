// What controllers do with time, one way a mode: `go-timers MODE`. Each thing that happens is one line,
// `WORD at TIME`, so that a test can hold the moments against what the libraries promise.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var modes = map[string]func(context.Context, *rest.Config) error{
	"requeue":  requeue,  // controller-runtime: a result with RequeueAfter
	"back-off": backOff,  // controller-runtime: an error, again and again
	"schedule": schedule, // client-go: a CronJob controller's arithmetic, no leader election
	"leader":   leader,   // client-go: leader election, an informer with a resync, a delaying queue
	"mirrored": mirrored, // client-go: informers whose caches are told
	"cached":   cached,   // controller-runtime: caches that are told
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	mode, known := modes[os.Args[len(os.Args)-1]]
	if !known {
		fail(fmt.Errorf("usage: go-timers MODE, not %v", os.Args[1:]))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fail(err)
	}
	if err := mode(ctx, config); err != nil {
		fail(err)
	}
}

// say writes one line with the moment by this program's own clock.
func say(word string) {
	fmt.Println(word, "at", time.Now().UTC().Format(time.RFC3339Nano))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go-timers:", err)
	os.Exit(1)
}
