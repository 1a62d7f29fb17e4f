package main

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var (
	documented = regexp.MustCompile("`([a-z][a-z_]*(?:\\.[a-z_]+)*\\.(?:[a-z_]+|\\*))`")
	inQuery    = regexp.MustCompile(`\b(?:slipbox|gen_ai|http_server|db_client|pgxpool)_[a-z0-9_]+`)
	// suffixes are what Prometheus adds to the name of an instrument.
	suffixes = []string{"_bucket", "_count", "_sum", "_total", "_seconds", "_bytes", "_ratio"}
)

// metricNames returns the names of metrics and attributes on the page about monitoring, as Prometheus
// writes them. A name that ends with an underscore stands for all that begin with it.
func metricNames(page string) (names []string) {
	for _, m := range documented.FindAllStringSubmatch(page, -1) {
		names = append(names, strings.TrimSuffix(strings.ReplaceAll(m[1], ".", "_"), "*"))
	}
	return names
}

// query checks that the metrics of a query exist.
func (c *checker) query(o object, text string) {
	if text == "" {
		c.badf(o, "has an empty query")
	}
	if c.metrics == nil {
		return
	}
	for _, name := range inQuery.FindAllString(text, -1) {
		if !c.isMetric(name) {
			c.badf(o, "asks for %s, which no process reports", name)
		}
	}
}

func (c *checker) isMetric(name string) bool {
	for {
		if slices.ContainsFunc(c.metrics, func(known string) bool {
			return name == known || strings.HasSuffix(known, "_") && strings.HasPrefix(name, known)
		}) {
			return true
		}
		i := slices.IndexFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
		if i < 0 {
			return false
		}
		name = strings.TrimSuffix(name, suffixes[i])
	}
}

// scales checks the target of an autoscaler: it is there, and nothing else sets its replicas.
func (c *checker) scales(o object, kind, name string) {
	target := c.find(kind + "/" + name)
	if target == nil {
		c.badf(o, "scales %s/%s, which is not there", kind, name)
		return
	}
	if d, ok := target.value.(*appsv1.Deployment); ok && d.Spec.Replicas != nil {
		c.badf(o, "scales %s, which sets its replicas: each upgrade would undo the scaling", target.name)
	}
}

func (c *checker) autoscaler(o object, h *autoscalingv2.HorizontalPodAutoscaler) {
	c.scales(o, h.Spec.ScaleTargetRef.Kind, h.Spec.ScaleTargetRef.Name)
	for _, m := range h.Spec.Metrics {
		if m.Pods != nil {
			c.query(o, m.Pods.Metric.Name)
		}
	}
}

func (c *checker) scaledObject(o object, s *scaledObject) {
	c.scales(o, s.Spec.ScaleTargetRef.Kind, s.Spec.ScaleTargetRef.Name)
	if len(s.Spec.Triggers) == 0 || s.Spec.MinReplicaCount > s.Spec.MaxReplicaCount {
		c.badf(o, "has no trigger, or a minimum above its maximum")
	}
	for _, t := range s.Spec.Triggers {
		if t.Type != "prometheus" || t.Metadata["serverAddress"] == "" {
			c.badf(o, "the trigger %s asks no Prometheus", t.Type)
		}
		if n, err := strconv.ParseFloat(t.Metadata["threshold"], 64); err != nil || n <= 0 {
			c.badf(o, "the threshold %q is no number above 0", t.Metadata["threshold"])
		}
		c.query(o, t.Metadata["query"])
	}
}

// rules checks the alerts and records of a PrometheusRule.
func (c *checker) rules(o object, r *monitoring.PrometheusRule) {
	found := 0
	for _, g := range r.Spec.Groups {
		for _, rule := range g.Rules {
			found++
			c.query(o, rule.Expr.String())
		}
	}
	if found == 0 {
		c.badf(o, "has no rule")
	}
}

// dashboard checks the JSON of a ConfigMap for Grafana.
func (c *checker) dashboard(o object, m *corev1.ConfigMap) {
	if m.Labels["app.kubernetes.io/component"] != "dashboard" {
		return
	}
	for name, text := range m.Data {
		if !json.Valid([]byte(text)) {
			c.badf(o, "%s is not JSON", name)
		}
		c.query(o, text)
	}
}

// serviceMonitor checks that the selector matches Services whose pods have the port.
func (c *checker) serviceMonitor(o object, s *monitoring.ServiceMonitor) {
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.Selector)
	if err != nil {
		c.badf(o, "selector: %v", err)
		return
	}
	scraped := map[string]bool{}
	for _, other := range c.objects {
		service, ok := other.value.(*corev1.Service)
		if !ok || !selector.Matches(labelSet(service.Labels)) {
			continue
		}
		for _, e := range s.Spec.Endpoints {
			if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == e.Port && p.Name != "" }) {
				c.badf(o, "asks a port for metrics that %s has not", other.name)
			}
		}
		selected := c.matching(other, &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
		if len(selected) == 0 {
			return // the mistake is that of the Service
		}
		for _, w := range selected {
			scraped[w.name] = true
		}
	}
	for _, w := range c.workloads {
		if _, ok := w.value.(*appsv1.Deployment); ok && !scraped[w.name] {
			c.badf(o, "reads no metrics of %s", w.name)
		}
	}
	c.admitted(o, func(w workload) bool { return scraped[w.name] })
}

// admitted checks that the network policies of pods whose metrics are read let somebody in.
func (c *checker) admitted(o object, scraped func(workload) bool) {
	for _, other := range c.objects {
		policy, ok := other.value.(*networkingv1.NetworkPolicy)
		if !ok || !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) || len(policy.Spec.Ingress) > 0 {
			continue
		}
		for _, w := range c.matching(other, &policy.Spec.PodSelector) {
			if scraped(w) {
				c.badf(o, "%s lets nobody read the metrics of %s", other.name, w.name)
			}
		}
	}
}

// endpoint matches the variables that name a server which the program calls.
var endpoint = regexp.MustCompile(`(_ENDPOINT|_BASE_URL|^HTTPS?_PROXY)$`)

// reaches checks that a network policy opens the ports of the servers that the variables of its pods
// name.
func (c *checker) reaches(o object, n *networkingv1.NetworkPolicy, w workload) {
	if !slices.Contains(n.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
		return
	}
	open := func(port int) bool {
		return slices.ContainsFunc(n.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
			return len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool {
				return p.Port == nil || *p.Port == intstr.FromInt(port)
			})
		})
	}
	for _, k := range w.pod.Spec.Containers {
		for _, e := range k.Env {
			u, err := url.Parse(e.Value)
			if !endpoint.MatchString(e.Name) || err != nil || u.Hostname() == "" {
				continue
			}
			port, err := strconv.Atoi(u.Port())
			if err != nil {
				port = map[string]int{"http": 80, "https": 443}[u.Scheme]
			}
			if !open(port) {
				c.badf(o, "%s of %s is at port %d, which is closed", e.Name, w.name, port)
			}
		}
	}
}

func (c *checker) httpRoute(o object, r *httpRoute) {
	if len(r.Spec.ParentRefs) == 0 || len(r.Spec.Rules) == 0 {
		c.badf(o, "has no parent or no rule")
	}
	for _, rule := range r.Spec.Rules {
		if len(rule.Matches) == 0 || len(rule.BackendRefs) == 0 {
			c.badf(o, "a rule has no path or no service")
		}
		for _, m := range rule.Matches {
			if m.Path.Type != "PathPrefix" || !strings.HasPrefix(m.Path.Value, "/") {
				c.badf(o, "the path %q has no type, or does not begin with a slash", m.Path.Value)
			}
		}
		for _, to := range rule.BackendRefs {
			if !slices.ContainsFunc(c.servicePorts(to.Name), func(p corev1.ServicePort) bool { return p.Port == to.Port }) {
				c.badf(o, "leads to port %d of %s, which is no port of a service", to.Port, to.Name)
			}
		}
	}
}

// externalSecrets checks, when there are any, that they make every secret that a pod reads.
func (c *checker) externalSecrets() {
	made := map[string]bool{}
	for _, o := range c.objects {
		if s, ok := o.value.(*externalSecret); ok {
			name := s.Spec.Target.Name
			if name == "" {
				name = s.Name
			}
			if len(s.Spec.Data) == 0 || s.Spec.SecretStoreRef.Name == "" {
				c.badf(o, "names no store, or no entry")
			}
			for _, d := range s.Spec.Data {
				made[name+"/"+d.SecretKey] = true
			}
		}
	}
	if len(made) == 0 {
		return
	}
	for _, w := range c.workloads {
		for _, k := range w.pod.Spec.Containers {
			for _, e := range k.Env {
				if e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
					continue
				}
				if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" && ref.Key != "" && !made[ref.Name+"/"+ref.Key] {
					c.badf(w.object, "reads the entry %s of the secret %s, which no ExternalSecret makes", ref.Key, ref.Name)
				}
			}
		}
	}
}
