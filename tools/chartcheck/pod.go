package main

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

var (
	// secretName matches the names of variables with secret values.
	secretName = regexp.MustCompile(`(^|_)(DATABASE_URL|REDIS_URL|API_KEY|WRAPPING_KEY|PASSWORD|SECRET|HEADERS)$`)
	// substituted matches what the kubelet replaces in arguments and variables.
	substituted = regexp.MustCompile(`\$\((\w+)\)`)
	// credentials matches a URL with a password.
	credentials = regexp.MustCompile(`://[^/\s:@]*:[^/\s@]+@`)
)

// checkPod checks one pod template.
func (c *checker) checkPod(w workload) {
	spec := &w.pod.Spec
	c.security(w)
	if w.selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(w.selector)
		if err != nil || selector.Empty() || !selector.Matches(labelSet(w.pod.Labels)) {
			c.badf(w.object, "its selector does not match the labels of its pods")
		}
	}
	for _, e := range metavalidation.ValidateLabels(w.pod.Labels, field.NewPath("template", "labels")) {
		c.badf(w.object, "%v", e)
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		c.badf(w.object, "automountServiceAccountToken must be false")
	}
	volumes := map[string]bool{}
	for _, v := range spec.Volumes {
		if volumes[v.Name] {
			c.badf(w.object, "volume %s is there twice", v.Name)
		}
		volumes[v.Name] = true
	}
	mounted := map[string]bool{}
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		c.container(w, &container)
		for _, m := range container.VolumeMounts {
			mounted[m.Name] = true
			if !volumes[m.Name] {
				c.badf(w.object, "%s mounts %s, which is no volume", container.Name, m.Name)
			}
		}
	}
	for name := range volumes {
		if !mounted[name] {
			c.badf(w.object, "volume %s is mounted nowhere", name)
		}
	}
}

// security checks, with the code of the admission controller, that a namespace with
// pod-security.kubernetes.io/enforce: restricted admits the pod.
func (c *checker) security(w workload) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		c.badf(w.object, "pod security: %v", err)
		return
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(level, &w.pod.ObjectMeta, &w.pod.Spec) {
		if !result.Allowed {
			c.badf(w.object, "pod security restricted: %s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
}

func (c *checker) container(w workload, k *corev1.Container) {
	if s := k.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		c.badf(w.object, "%s: readOnlyRootFilesystem must be true", k.Name)
	}
	if !pinned(k.Image) {
		c.badf(w.object, "%s: the image %q is not pinned by a tag other than latest, or a digest", k.Name, k.Image)
	}
	limit := k.Resources.Limits.Memory()
	if limit.IsZero() || k.Resources.Requests.Memory().IsZero() || k.Resources.Requests.Cpu().IsZero() {
		c.badf(w.object, "%s: requests of cpu and memory and a limit of memory must be set", k.Name)
	}
	for name, request := range k.Resources.Requests {
		if most, ok := k.Resources.Limits[name]; ok && request.Cmp(most) > 0 {
			c.badf(w.object, "%s: requests more %s than its limit", k.Name, name)
		}
	}
	env := c.environment(w, k)
	for _, name := range []string{"GOMEMLIMIT", "SLIPBOX_INDEX_BYTES"} {
		value, set := env[name]
		bytes, err := strconv.ParseInt(value, 10, 64)
		if set && (err != nil || bytes <= 0 || bytes >= limit.Value()) {
			c.badf(w.object, "%s: %s is %q, which is no number of bytes below the memory limit", k.Name, name, value)
		}
	}
	c.stopping(w, k, env)
	for kind, probe := range map[string]*corev1.Probe{"startup": k.StartupProbe, "liveness": k.LivenessProbe, "readiness": k.ReadinessProbe} {
		if probe == nil {
			if _, once := w.restarts(); !once {
				c.badf(w.object, "%s: has no %s probe", k.Name, kind)
			}
			continue
		}
		asks := probe.HTTPGet != nil && hasPort(k.Ports, probe.HTTPGet.Port) || probe.TCPSocket != nil && hasPort(k.Ports, probe.TCPSocket.Port)
		if !asks {
			c.badf(w.object, "%s: the %s probe asks no port of the container", k.Name, kind)
		}
	}
}

// restarts returns the restart policy, and whether the pod runs to completion.
func (w workload) restarts() (corev1.RestartPolicy, bool) {
	p := w.pod.Spec.RestartPolicy
	return p, p == corev1.RestartPolicyNever || p == corev1.RestartPolicyOnFailure
}

// environment returns the literal variables, and reports secrets among them.
func (c *checker) environment(w workload, k *corev1.Container) map[string]string {
	literal, seen := map[string]string{}, map[string]bool{}
	for _, e := range k.Env {
		if seen[e.Name] {
			c.badf(w.object, "%s: %s is set twice", k.Name, e.Name)
		}
		seen[e.Name] = true
		if e.ValueFrom != nil {
			if ref := e.ValueFrom.SecretKeyRef; ref != nil && (ref.Name == "" || ref.Key == "") {
				c.badf(w.object, "%s: %s names no secret, or no key in it", k.Name, e.Name)
			}
			continue
		}
		literal[e.Name] = e.Value
		if secretName.MatchString(e.Name) || credentials.MatchString(e.Value) {
			c.badf(w.object, "%s: %s holds a secret as a literal; refer to a Secret", k.Name, e.Name)
		}
	}
	for _, text := range slices.Concat(slices.Collect(maps.Values(literal)), k.Command, k.Args) {
		for _, m := range substituted.FindAllStringSubmatch(text, -1) {
			if !seen[m[1]] {
				c.badf(w.object, "%s: $(%s) is no variable of the container", k.Name, m[1])
			}
		}
	}
	for _, arg := range slices.Concat(k.Command, k.Args) {
		if credentials.MatchString(arg) {
			c.badf(w.object, "%s: an argument holds a password", k.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(literal)) {
		if strings.HasPrefix(name, "SLIPBOX_") && literal[name] == "" {
			c.badf(w.object, "%s: %s is empty", k.Name, name)
		}
	}
	return literal
}

// stopping checks that the pod is not killed before the program can stop.
func (c *checker) stopping(w workload, k *corev1.Container, env map[string]string) {
	value, set := env["SLIPBOX_STOP_TIMEOUT"]
	if !set {
		return
	}
	need, err := time.ParseDuration(value)
	if err != nil {
		c.badf(w.object, "%s: SLIPBOX_STOP_TIMEOUT: %v", k.Name, err)
		return
	}
	if k.Lifecycle != nil && k.Lifecycle.PreStop != nil && k.Lifecycle.PreStop.Sleep != nil {
		need += time.Duration(k.Lifecycle.PreStop.Sleep.Seconds) * time.Second
	}
	grace := 30 * time.Second // the default of Kubernetes
	if s := w.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	if grace <= need {
		c.badf(w.object, "%s: needs %s to stop, and is killed after %s", k.Name, need, grace)
	}
}

// pinned reports whether an image has a tag of one version, or a digest.
func pinned(image string) bool {
	if _, digest, ok := strings.Cut(image, "@"); ok {
		return strings.HasPrefix(digest, "sha256:") && len(digest) == len("sha256:")+64
	}
	last := image[strings.LastIndex(image, "/")+1:] // a colon before the slash belongs to a port
	_, tag, ok := strings.Cut(last, ":")
	return ok && tag != "" && tag != "latest"
}

func hasPort(ports []corev1.ContainerPort, port intstr.IntOrString) bool {
	return slices.ContainsFunc(ports, func(p corev1.ContainerPort) bool {
		if port.Type == intstr.String {
			return p.Name == port.StrVal
		}
		return p.ContainerPort == port.IntVal
	})
}
