package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Members know a password by its checksum, which is written before the Secret that keeps it: after a crash between, the
// Secret gets another password, the checksum stays, and all looks right, because both are random. Only the next restart
// compares them, and starts all members anew. The twin makes the Secret first and takes the checksum from it.
func init() {
	operator("checksum", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		password := secret(database, database.GetName()+"-password")
		password.StringData = nil
		err := r.live.Get(ctx, client.ObjectKeyFromObject(password), password)
		if err != nil && !errors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		isNew := err != nil
		if isNew {
			password.Data = map[string][]byte{"password": []byte(hex.EncodeToString(random()))}
		}
		if isNew && r.fixed {
			if err := r.Create(ctx, password); err != nil {
				return ctrl.Result{}, err
			}
		}
		if err := r.note(ctx, database, checksum(password), isNew && !r.fixed); err != nil {
			return ctrl.Result{}, err
		}
		if isNew && !r.fixed {
			return ctrl.Result{}, r.Create(ctx, password)
		}
		return ctrl.Result{}, nil
	}})
}

func checksum(password *corev1.Secret) string {
	sum := sha256.Sum256(password.Data["password"])
	return hex.EncodeToString(sum[:])
}

// note keeps the checksum of the password that members use. With onlyNew one that is there stays.
func (r *reconciler) note(ctx context.Context, database *unstructured.Unstructured, sum string, onlyNew bool) error {
	members := config(database, database.GetName()+"-members", map[string]string{"checksum": sum})
	err := r.Create(ctx, members)
	if !errors.IsAlreadyExists(err) || onlyNew {
		return ignoreExists(err)
	}
	found := &corev1.ConfigMap{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(members), found); err != nil {
		return err
	}
	if found.Data["checksum"] == sum {
		return nil
	}
	found.Data["checksum"] = sum
	return r.Update(ctx, found)
}

func random() []byte {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return bytes
}
