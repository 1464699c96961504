package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// Asker keeps the answers of pods.
type Asker struct {
	Config         *rest.Config
	Client         kubernetes.Interface
	Pods           listers.PodLister
	WebSocket, Log bool
}

// Reconcile asks one pod, if it runs, and keeps its answer.
func (a *Asker) Reconcile(ctx context.Context, name string) error {
	pod, err := a.Pods.Pods("default").Get(name)
	if apierrors.IsNotFound(err) || err == nil && pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	if err != nil {
		return err
	}
	ask := a.command
	if a.Log {
		ask = a.log
	}
	answer, err := ask(ctx, name)
	if err != nil {
		return err
	}
	return a.keep(ctx, name, answer)
}

func (a *Asker) keep(ctx context.Context, name string, answer map[string]string) error {
	configMaps := a.Client.CoreV1().ConfigMaps("default")
	known, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: answer}
		_, err = configMaps.Create(ctx, made, metav1.CreateOptions{})
		return err
	}
	if err != nil || maps.Equal(known.Data, answer) {
		return err
	}
	known.Data = answer
	_, err = configMaps.Update(ctx, known, metav1.UpdateOptions{})
	return err
}

// command runs `ask NAME` in the pod.
func (a *Asker) command(ctx context.Context, name string) (map[string]string, error) {
	executor, err := a.executor(name)
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs})
	answer := map[string]string{"code": "0", "stdout": out.String(), "stderr": errs.String()}
	var exit exec.CodeExitError
	switch {
	case errors.As(err, &exit):
		answer["code"] = fmt.Sprint(exit.Code)
	case err != nil:
		answer["code"], answer["why"] = "none", err.Error()
	}
	return answer, nil
}

func (a *Asker) executor(name string) (remotecommand.Executor, error) {
	request := a.Client.CoreV1().RESTClient().Post().
		Namespace("default").Resource("pods").Name(name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: "c", Command: []string{"ask", name}, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	if a.WebSocket {
		return remotecommand.NewWebSocketExecutor(a.Config, "GET", request.URL().String())
	}
	return remotecommand.NewSPDYExecutor(a.Config, "POST", request.URL())
}

// log reads the pod's log until its container ends.
func (a *Asker) log(ctx context.Context, name string) (map[string]string, error) {
	options := &corev1.PodLogOptions{Container: "c", Follow: true}
	stream, err := a.Client.CoreV1().Pods("default").GetLogs(name, options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	all, err := io.ReadAll(stream)
	return map[string]string{"log": string(all)}, err
}
