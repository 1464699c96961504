package dev.trommel.tests;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Informers whose caches are told as lines of JSON: all of it when a line comes on stdin, and from then on whenever
 * something changed.
 */
public final class Mirror {
    private static final Map<String, Supplier<Map<String, String>>> CACHES = new ConcurrentHashMap<>();
    private static volatile boolean asked = false;

    public static void main(String[] arguments) throws IOException, InterruptedException {
        var client = new KubernetesClientBuilder().build();
        var configMaps = client.configMaps().inNamespace("default");
        var widgets = client.genericKubernetesResources("example.com/v1", "Widget").inNamespace("default");
        keep("configmaps", configMaps.inform(handler()), Mirror::value);
        keep("selected", configMaps.withLabel("keep", "yes").inform(handler()), Mirror::value);
        keep("widgets", widgets.inform(handler()), Mirror::value);
        if (System.in.read() != -1) {
            asked = true;
            tell();
        }
        new CountDownLatch(1).await();
    }

    private static String value(ConfigMap object) {
        return object.getData() == null ? "" : object.getData().getOrDefault("value", "");
    }

    private static String value(GenericKubernetesResource object) {
        return object.get("spec", "value");
    }

    private static <T extends HasMetadata> void keep(
            String name, SharedIndexInformer<T> informer, Function<T, String> value) {
        CACHES.put(name, () -> {
            var held = new TreeMap<String, String>();
            for (var object : informer.getStore().list()) {
                var metadata = object.getMetadata();
                held.put(metadata.getName(), metadata.getResourceVersion() + " " + value.apply(object));
            }
            return held;
        });
    }

    private static synchronized void tell() {
        if (!asked) {
            return;
        }
        var held = new TreeMap<String, Map<String, String>>();
        CACHES.forEach((name, read) -> held.put(name, read.get()));
        System.out.println(Serialization.asJson(held).replace('\n', ' '));
        System.out.flush();
    }

    private static <T> ResourceEventHandler<T> handler() {
        return new ResourceEventHandler<T>() {
            @Override
            public void onAdd(T added) {
                tell();
            }

            @Override
            public void onUpdate(T old, T updated) {
                tell();
            }

            @Override
            public void onDelete(T deleted, boolean unknown) {
                tell();
            }
        };
    }
}
