package dev.trommel.tests;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Handles every ConfigMap of a namespace when it is new, and then every five minutes. */
public final class Timers {
    public static void main(String[] arguments) throws InterruptedException {
        var executor = Executors.newSingleThreadScheduledExecutor();
        var client = new KubernetesClientBuilder().build();
        client.configMaps().inNamespace("default").inform(new ResourceEventHandler<ConfigMap>() {
            @Override
            public void onAdd(ConfigMap added) {
                executor.scheduleAtFixedRate(() -> say("reconcile"), 0, 5, TimeUnit.MINUTES);
            }

            @Override
            public void onUpdate(ConfigMap old, ConfigMap updated) {}

            @Override
            public void onDelete(ConfigMap deleted, boolean unknown) {}
        });
        new CountDownLatch(1).await();
    }

    private static void say(String word) {
        System.out.println(word + " at " + Instant.now());
    }
}
