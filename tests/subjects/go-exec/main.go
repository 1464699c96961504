// Asks each pod that runs a question by a command, and keeps the answer in a ConfigMap of the pod's name: over SPDY, as
// controllers do, or with -websocket over a WebSocket. With -log it follows each pod's log to its end instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

func main() {
	var asker Asker
	flag.BoolVar(&asker.WebSocket, "websocket", false, "ask over a WebSocket")
	flag.BoolVar(&asker.Log, "log", false, "follow the log instead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &asker); err != nil {
		fmt.Fprintln(os.Stderr, "go-exec:", err)
		os.Exit(1)
	}
}

// run keeps answers until it is told to end.
func run(ctx context.Context, asker *Asker) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	asker.Config = config
	if asker.Client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(asker.Client, 0, informers.WithNamespace("default"))
	pods := factory.Core().V1().Pods()
	asker.Pods = pods.Lister()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	enqueue := func(object any) { queue.Add(object.(*corev1.Pod).Name) }
	_, err = pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	context.AfterFunc(ctx, queue.ShutDown)
	for {
		name, ended := queue.Get()
		if ended {
			return nil
		}
		if err := asker.Reconcile(ctx, name); err != nil {
			fmt.Fprintln(os.Stderr, "go-exec:", err)
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}
