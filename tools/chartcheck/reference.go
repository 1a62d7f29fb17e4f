package main

import (
	"slices"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type labelSet = labels.Set

// checkReferences checks the references between objects.
func (c *checker) checkReferences() {
	c.externalSecrets()
	for _, w := range c.workloads {
		c.account(w)
		if w.selector != nil && len(c.matching(w.object, w.selector)) > 1 {
			c.badf(w.object, "its selector also matches the pods of others")
		}
	}
	for _, o := range c.objects {
		switch v := o.value.(type) {
		case *corev1.Service:
			c.service(o, v)
		case *policyv1.PodDisruptionBudget:
			c.selected(o, v.Spec.Selector)
		case *networkingv1.NetworkPolicy:
			c.networkPolicy(o, v)
		case *networkingv1.Ingress:
			c.ingress(o, v)
		case *autoscalingv2.HorizontalPodAutoscaler:
			c.autoscaler(o, v)
		case *scaledObject:
			c.scaledObject(o, v)
		case *httpRoute:
			c.httpRoute(o, v)
		case *monitoring.PrometheusRule:
			c.rules(o, v)
		case *monitoring.ServiceMonitor:
			c.serviceMonitor(o, v)
		case *corev1.ConfigMap:
			c.dashboard(o, v)
		case *monitoring.PodMonitor:
			selected := c.selected(o, &v.Spec.Selector)
			c.admitted(o, func(w workload) bool {
				return slices.ContainsFunc(selected, func(s workload) bool { return s.name == w.name })
			})
			for _, w := range selected {
				for _, e := range v.Spec.PodMetricsEndpoints {
					if e.Port == nil || !anyPort(w, intstr.FromString(*e.Port)) {
						c.badf(o, "asks a port for metrics that %s has not", w.name)
					}
				}
			}
		}
	}
}

// selected returns the workloads whose pods a selector matches. It is a mistake when there are none.
func (c *checker) selected(o object, by *metav1.LabelSelector) []workload {
	out := c.matching(o, by)
	if len(out) == 0 {
		c.badf(o, "selects no pods of the release")
	}
	return out
}

func (c *checker) matching(o object, by *metav1.LabelSelector) (out []workload) {
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		c.badf(o, "selector: %v", err)
		return nil
	}
	for _, w := range c.workloads {
		if selector.Matches(labelSet(w.pod.Labels)) {
			out = append(out, w)
		}
	}
	return out
}

func (c *checker) find(name string) *object {
	i := slices.IndexFunc(c.objects, func(o object) bool { return o.name == name })
	if i < 0 {
		return nil
	}
	return &c.objects[i]
}

func (c *checker) service(o object, s *corev1.Service) {
	for _, w := range c.selected(o, &metav1.LabelSelector{MatchLabels: s.Spec.Selector}) {
		if w.hook() {
			c.badf(o, "sends requests to %s", w.name)
		}
		for _, p := range s.Spec.Ports {
			if !anyPort(w, p.TargetPort) {
				c.badf(o, "its target port %s is none of %s", p.TargetPort.String(), w.name)
			}
		}
	}
}

func (c *checker) ingress(o object, i *networkingv1.Ingress) {
	if len(i.Spec.Rules) == 0 {
		c.badf(o, "has no rule")
	}
	for _, rule := range i.Spec.Rules {
		if rule.HTTP == nil || len(rule.HTTP.Paths) == 0 {
			c.badf(o, "has no path for %s", rule.Host)
			continue
		}
		for _, p := range rule.HTTP.Paths {
			if p.PathType == nil || p.Backend.Service == nil {
				c.badf(o, "the path %s has no type or no service", p.Path)
				continue
			}
			to := p.Backend.Service
			if !slices.ContainsFunc(c.servicePorts(to.Name), func(sp corev1.ServicePort) bool {
				return sp.Name == to.Port.Name && to.Port.Name != "" || sp.Port == to.Port.Number
			}) {
				c.badf(o, "the path %s leads to no port of a service", p.Path)
			}
		}
	}
}

func (c *checker) servicePorts(name string) []corev1.ServicePort {
	if o := c.find("Service/" + name); o != nil {
		if service, ok := o.value.(*corev1.Service); ok {
			return service.Spec.Ports
		}
	}
	return nil
}

func (c *checker) networkPolicy(o object, n *networkingv1.NetworkPolicy) {
	for _, w := range c.selected(o, &n.Spec.PodSelector) {
		if w.early() && !o.early() {
			c.badf(o, "is made after %s, which it is for", w.name)
		}
		c.reaches(o, n, w)
		for _, rule := range n.Spec.Ingress {
			for _, p := range rule.Ports {
				if p.Port != nil && !anyPort(w, *p.Port) {
					c.badf(o, "opens port %s, which %s has not", p.Port.String(), w.name)
				}
			}
		}
	}
}

// account checks that a hook uses no service account or settings that the release creates after it.
func (c *checker) account(w workload) {
	var uses []string
	if name := w.pod.Spec.ServiceAccountName; name != "" {
		uses = append(uses, "ServiceAccount/"+name)
	}
	for _, v := range w.pod.Spec.Volumes {
		if v.ConfigMap != nil {
			uses = append(uses, "ConfigMap/"+v.ConfigMap.Name)
		}
	}
	for _, name := range uses {
		if o := c.find(name); o != nil && w.early() && !o.early() {
			c.badf(w.object, "is a hook and runs before %s is made", name)
		}
	}
}

func anyPort(w workload, port intstr.IntOrString) bool {
	return slices.ContainsFunc(w.pod.Spec.Containers, func(k corev1.Container) bool { return hasPort(k.Ports, port) })
}
