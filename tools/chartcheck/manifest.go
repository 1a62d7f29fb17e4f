package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// object is one manifest as its API type.
type object struct {
	metav1.Object
	value runtime.Object
	name  string // Kind/name, for messages
}

// hook reports whether Helm creates the object apart from the release.
func (o object) hook() bool { return o.GetAnnotations()["helm.sh/hook"] != "" }

// early reports whether Helm creates the object before the rest of the release. Tests run after it.
func (o object) early() bool { return strings.Contains(o.GetAnnotations()["helm.sh/hook"], "pre-") }

// workload is an object with a pod template.
type workload struct {
	object
	selector *metav1.LabelSelector // nil for a Job: the cluster sets its selector
	pod      *corev1.PodTemplateSpec
}

// checkManifests reads rendered manifests and returns their mistakes. When one does not decode, it
// skips the rules over several objects. metrics are the names that queries may have; nil: any.
func checkManifests(r io.Reader, metrics []string) ([]string, error) {
	objects, mistakes, err := decode(r)
	if err != nil || len(mistakes) > 0 {
		return mistakes, err
	}
	if len(objects) == 0 {
		return nil, errors.New("there is no manifest in the input")
	}
	c := &checker{objects: objects, metrics: metrics}
	seen := map[string]bool{}
	for _, o := range objects {
		if seen[o.name] {
			c.badf(o, "is there twice")
		}
		seen[o.name] = true
		c.names(o)
		if w, ok := workloadOf(o); ok {
			c.workloads = append(c.workloads, w)
		}
	}
	for _, w := range c.workloads {
		c.checkPod(w)
	}
	c.checkReferences()
	slices.Sort(c.mistakes)
	return c.mistakes, nil
}

// decode decodes every document into its API type with the strict field validation of the API
// server: unknown and repeated fields and wrong types are mistakes.
func decode(r io.Reader) (objects []object, mistakes []string, err error) {
	known := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(known))
	utilruntime.Must(monitoring.AddToScheme(known))
	addForeign(known)
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()

	documents := yaml.NewYAMLReader(bufio.NewReader(r))
	for n := 1; ; n++ {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, mistakes, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", n, err)
		}
		if empty(raw) {
			continue
		}
		value, kind, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			mistakes = append(mistakes, fmt.Sprintf("document %d (%s): %v", n, head(raw), err))
			continue
		}
		meta, ok := value.(metav1.Object)
		if !ok {
			mistakes = append(mistakes, fmt.Sprintf("document %d: a %s has no metadata", n, kind.Kind))
			continue
		}
		o := object{Object: meta, value: value, name: kind.Kind + "/" + meta.GetName()}
		if kind.Group != kedaGroup && (strings.Contains(kind.Version, "alpha") || strings.Contains(kind.Version, "beta")) {
			mistakes = append(mistakes, o.name+": "+kind.GroupVersion().String()+" is not a stable version")
		}
		objects = append(objects, o)
	}
}

// empty reports whether a document has only comments and separators.
func empty(raw []byte) bool {
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return false
		}
	}
	return true
}

// head returns a name for a document that does not decode, from its lines kind: and name:.
func head(raw []byte) string {
	var said []string
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "kind: ") || strings.HasPrefix(line, "  name: ") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	return strings.Join(said, ", ")
}

func workloadOf(o object) (workload, bool) {
	switch v := o.value.(type) {
	case *appsv1.Deployment:
		return workload{o, v.Spec.Selector, &v.Spec.Template}, true
	case *appsv1.StatefulSet:
		return workload{o, v.Spec.Selector, &v.Spec.Template}, true
	case *appsv1.DaemonSet:
		return workload{o, v.Spec.Selector, &v.Spec.Template}, true
	case *batchv1.Job:
		return workload{o, v.Spec.Selector, &v.Spec.Template}, true
	case *batchv1.CronJob:
		return workload{o, nil, &v.Spec.JobTemplate.Spec.Template}, true
	case *corev1.Pod:
		return workload{o, nil, &corev1.PodTemplateSpec{ObjectMeta: v.ObjectMeta, Spec: v.Spec}}, true
	}
	return workload{}, false
}

// checker collects mistakes.
type checker struct {
	objects   []object
	workloads []workload
	metrics   []string // see checkManifests
	mistakes  []string
}

func (c *checker) badf(o object, format string, args ...any) {
	c.mistakes = append(c.mistakes, o.name+": "+fmt.Sprintf(format, args...))
}

// names checks the names and labels, which the types do not restrict.
func (c *checker) names(o object) {
	valid := validation.IsDNS1123Subdomain
	switch o.value.(type) {
	case *corev1.Service:
		valid = validation.IsDNS1035Label
	case *appsv1.Deployment, *batchv1.Job:
		valid = validation.IsDNS1123Label // it becomes part of the names and labels of pods
	case *batchv1.CronJob:
		const most = 52 // a Job of it has 11 characters more
		if len(o.GetName()) > most {
			c.badf(o, "name: must be no more than %d characters", most)
		}
	case *corev1.Secret:
		c.badf(o, "is a Secret; the chart refers to secrets, it makes none")
	}
	for _, problem := range valid(o.GetName()) {
		c.badf(o, "name: %s", problem)
	}
	for _, e := range metavalidation.ValidateLabels(o.GetLabels(), field.NewPath("labels")) {
		c.badf(o, "%v", e)
	}
	for _, key := range slices.Sorted(maps.Keys(o.GetAnnotations())) {
		for _, problem := range validation.IsQualifiedName(strings.ToLower(key)) {
			c.badf(o, "annotation %s: %s", key, problem)
		}
	}
}
