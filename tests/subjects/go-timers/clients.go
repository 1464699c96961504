package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
)

// informer watches ConfigMaps and tells of each object that is new, and of each resync.
func informer(ctx context.Context, client kubernetes.Interface, resync time.Duration, handle func(name, word string)) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithNamespace("default"))
	configMaps := factory.Core().V1().ConfigMaps().Informer()
	name := func(object any) string { return object.(*corev1.ConfigMap).Name }
	_, err := configMaps.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { handle(name(object), "added") },
		UpdateFunc: func(old, object any) {
			if old.(*corev1.ConfigMap).ResourceVersion == object.(*corev1.ConfigMap).ResourceVersion {
				handle(name(object), "resync")
			}
		},
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), configMaps.HasSynced) {
		return ctx.Err()
	}
	return nil
}

// schedule runs something every day at half past two, from when a ConfigMap says so. It works out the next moment
// from the clock, as the CronJob controller does, but waits with a plain timer: the delaying queue of client-go,
// which that controller uses, wakes up every ten seconds whatever there is.
func schedule(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	asked := make(chan struct{}, 1)
	if err := informer(ctx, client, 0, func(name, word string) {
		if name == "schedule" {
			asked <- struct{}{}
		}
	}); err != nil {
		return err
	}
	<-asked
	for {
		now := time.Now().UTC()
		next := now.Truncate(24 * time.Hour).Add(2*time.Hour + 30*time.Minute)
		if !next.After(now) {
			next = next.Add(24 * time.Hour)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next.Sub(now)):
		}
		say("run")
		job := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("run-%d", next.Unix()/60)}}
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
}

// leader does nothing until it holds the lease; then it handles every ConfigMap when it is new, at a resync
// every ten hours, and five minutes after it was handled last.
func leader(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	identity := fmt.Sprintf("%s-%d", os.Getenv("HOSTNAME"), time.Now().UnixNano())
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "go-timers"},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second,
		RetryPeriod:   2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				say("leading")
				if err := lead(ctx, client); err != nil {
					fail(err)
				}
			},
			OnStoppedLeading: func() { say("lost") },
		},
	})
	return nil
}

func lead(ctx context.Context, client kubernetes.Interface) error {
	queue := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{})
	if err := informer(ctx, client, 10*time.Hour, func(name, word string) {
		say(word)
		if word == "added" {
			queue.Add(name)
		}
	}); err != nil {
		return err
	}
	for {
		name, done := queue.Get()
		if done {
			return nil
		}
		say("reconcile")
		queue.Done(name)
		queue.AddAfter(name, 5*time.Minute)
	}
}
