package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler keeps what belongs to each Database.
type Reconciler struct{ client.Client }

// Reconcile brings one Database to Ready: Service, StatefulSet and budget as they should be, then the Job that fills
// it, once all replicas are ready for the first time. Every name follows from the Database's, so that a killed
// operator finds what it made.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var database Database
	if err := r.Get(ctx, request.NamespacedName, &database); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !database.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if err := r.service(ctx, &database); err != nil {
		return ctrl.Result{}, err
	}
	set, err := r.statefulSet(ctx, &database)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.budget(ctx, &database); err != nil {
		return ctrl.Result{}, err
	}
	status := DatabaseStatus{
		ObservedGeneration: database.Generation,
		ReadyReplicas:      set.Status.ReadyReplicas,
		Phase:              "Starting",
	}
	if set.Status.ObservedGeneration == set.Generation && set.Status.ReadyReplicas == database.Spec.Replicas {
		filled, err := r.fill(ctx, &database)
		if err != nil {
			return ctrl.Result{}, err
		}
		status.Phase = "Filling"
		if filled {
			status.Phase = "Ready"
		}
	}
	if status == database.Status {
		return ctrl.Result{}, nil
	}
	database.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, &database)
}

func labels(database *Database) map[string]string {
	return map[string]string{"database": database.Name}
}

func named(database *Database, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: database.Namespace, Name: name}
}

func (r *Reconciler) keep(ctx context.Context, database *Database, object client.Object, set func()) error {
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, object, func() error {
		set()
		return controllerutil.SetControllerReference(database, object, r.Scheme())
	})
	return err
}

func (r *Reconciler) service(ctx context.Context, database *Database) error {
	service := &corev1.Service{ObjectMeta: named(database, database.Name)}
	return r.keep(ctx, database, service, func() {
		service.Spec.ClusterIP = corev1.ClusterIPNone
		service.Spec.Selector = labels(database)
		service.Spec.Ports = []corev1.ServicePort{
			{Name: "sql", Port: 5432, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("sql")},
		}
	})
}

func (r *Reconciler) statefulSet(ctx context.Context, database *Database) (*appsv1.StatefulSet, error) {
	storage, err := resource.ParseQuantity(database.Spec.Storage)
	if err != nil {
		return nil, err
	}
	set := &appsv1.StatefulSet{ObjectMeta: named(database, database.Name)}
	err = r.keep(ctx, database, set, func() {
		set.Spec.Replicas = &database.Spec.Replicas
		if !set.CreationTimestamp.IsZero() {
			return // nothing else of it can be changed, or is
		}
		set.Spec.ServiceName = database.Name
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels(database)}
		set.Spec.Template.Labels = labels(database)
		set.Spec.Template.Spec.Containers = []corev1.Container{{
			Name:         "db",
			Image:        "example.invalid/db:1",
			Ports:        []corev1.ContainerPort{{Name: "sql", ContainerPort: 5432}},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		}}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: storage},
				},
			},
		}}
	})
	return set, err
}

func (r *Reconciler) budget(ctx context.Context, database *Database) error {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: named(database, database.Name)}
	return r.keep(ctx, database, budget, func() {
		most := intstr.FromInt32(1)
		budget.Spec.MaxUnavailable = &most
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels(database)}
	})
}

// fill sees to it that the Job is there. Whether it is complete.
func (r *Reconciler) fill(ctx context.Context, database *Database) (bool, error) {
	job := &batchv1.Job{ObjectMeta: named(database, database.Name+"-fill")}
	err := r.Get(ctx, client.ObjectKeyFromObject(job), job)
	if err == nil || !errors.IsNotFound(err) {
		return job.Status.CompletionTime != nil, err
	}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "fill", Image: "example.invalid/fill:1"}},
	}
	if err := controllerutil.SetControllerReference(database, job, r.Scheme()); err != nil {
		return false, err
	}
	return false, client.IgnoreAlreadyExists(r.Create(ctx, job))
}
