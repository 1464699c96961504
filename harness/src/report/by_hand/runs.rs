//! How a person starts the controller, kills it and starts it again.

use super::quoted;

/// The controller, as a person runs it.
#[derive(Debug, Clone)]
pub enum Runs {
    /// A process of the person's machine, with its command line.
    Process(String),
    /// Pods of a Deployment, on a kind cluster.
    Pods(Deployed),
}

impl Default for Runs {
    fn default() -> Runs {
        Runs::Process(String::new())
    }
}

/// A Deployment with the controller.
#[derive(Debug, Clone, Default)]
pub struct Deployed {
    /// Files and folders of its own, to be applied.
    pub manifests: Vec<String>,
    /// Images that its nodes need.
    pub images: Vec<String>,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The container that is the controller.
    pub container: String,
    /// How many pods it has.
    pub replicas: u32,
}

impl Runs {
    /// A cluster to do it on.
    pub fn cluster(&self) -> Vec<String> {
        let Runs::Pods(pods) = self else {
            return vec![
                "Take a cluster that you may break, for example `kind create cluster`. Work in the folder of the campaign \
                 file."
                    .to_owned(),
            ];
        };
        let load = |image: &String| match image.ends_with(".tar") {
            true => format!("`kind load image-archive {}`", quoted(image)),
            false => format!("`kind load docker-image {}`", quoted(image)),
        };
        let mut steps = vec![
            "Take a kind cluster that you may break: `kind create cluster`. Work in the folder of the campaign file."
                .to_owned(),
        ];
        if !pods.images.is_empty() {
            let loads: Vec<String> = pods.images.iter().map(load).collect();
            steps.push(format!("Load its images: {}", loads.join(", ")));
        }
        steps
    }

    /// The first start of `which`.
    pub fn start(&self, which: &str) -> String {
        match self {
            Runs::Process(command) => format!("Start {which}: `{command}`"),
            Runs::Pods(pods) => format!("Start {which}: `{}`", apply(&pods.manifests)),
        }
    }

    /// How `which` is sent a signal: `9`, `STOP`, `CONT`. After "with".
    pub fn signal(&self, signal: &str) -> String {
        match self {
            Runs::Process(_) => format!("`kill -{signal}`"),
            Runs::Pods(Deployed { container, .. }) => format!(
                "`docker exec NODE sh -c 'for id in $(ctr --namespace k8s.io containers ls --quiet \
                 labels.\"io.kubernetes.container.name\"=={container}); do ctr --namespace k8s.io tasks kill --signal \
                 SIG{} $id; done'` (NODE is that of its pod)",
                if signal == "9" { "KILL" } else { signal }
            ),
        }
    }

    /// The next start of `which`, when it is to come: `at once`, `when all is quiet`.
    pub fn start_again(&self, which: &str, when: &str) -> String {
        match self {
            Runs::Process(command) => format!("Start {which} again {when}: `{command}`"),
            Runs::Pods(_) if when == "at once" => {
                format!("The kubelet starts {which} again, a second later.")
            }
            Runs::Pods(Deployed { namespace, name, replicas, .. }) => {
                let scale = format!("kubectl --namespace {namespace} scale deployment {name}");
                format!(
                    "Keep it down with `{scale} --replicas 0` at once. Start {which} again {when}: `{scale} --replicas \
                     {replicas}`"
                )
            }
        }
    }

    /// The next start of `which`, in front of another API server, after "that names".
    pub fn start_again_behind(&self, which: &str, when: &str, server: &str) -> String {
        match self {
            Runs::Process(command) => {
                format!(
                    "Start {which} again {when}, with a kubeconfig that names {server}: `{command}`"
                )
            }
            Runs::Pods(_) => format!(
                "Lead the Service `default/kubernetes` of its node to {server} before {which} is started again {when}."
            ),
        }
    }
}

/// A command that applies files and folders.
pub fn apply(manifests: &[String]) -> String {
    let files: Vec<String> = manifests.iter().map(|file| format!("-f {}", quoted(file))).collect();
    format!("kubectl apply {}", files.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_is_applied_killed_in_its_node_and_scaled() {
        let pods = Runs::Pods(Deployed {
            manifests: vec!["deploy.yaml".to_owned()],
            images: vec!["shop:1".to_owned(), "images/more.tar".to_owned()],
            namespace: "shop-system".to_owned(),
            name: "shop".to_owned(),
            container: "manager".to_owned(),
            replicas: 1,
        });
        let mut steps = pods.cluster();
        steps.push(pods.start("the controller"));
        steps.push(pods.signal("9"));
        steps.push(pods.start_again("the controller", "at once"));
        steps.push(pods.start_again("the controller", "when all is quiet"));
        steps.push(pods.start_again_behind("the controller", "at once", "the second API server"));
        insta::assert_snapshot!(steps.join("\n"), @r#"
        Take a kind cluster that you may break: `kind create cluster`. Work in the folder of the campaign file.
        Load its images: `kind load docker-image shop:1`, `kind load image-archive images/more.tar`
        Start the controller: `kubectl apply -f deploy.yaml`
        `docker exec NODE sh -c 'for id in $(ctr --namespace k8s.io containers ls --quiet labels."io.kubernetes.container.name"==manager); do ctr --namespace k8s.io tasks kill --signal SIGKILL $id; done'` (NODE is that of its pod)
        The kubelet starts the controller again, a second later.
        Keep it down with `kubectl --namespace shop-system scale deployment shop --replicas 0` at once. Start the controller again when all is quiet: `kubectl --namespace shop-system scale deployment shop --replicas 1`
        Lead the Service `default/kubernetes` of its node to the second API server before the controller is started again at once.
        "#);
    }
}
