package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of other projects that the chart makes, with the fields that it uses: their modules would
// bring hundreds of packages. A field that is not here is refused as unknown; look it up before you
// add it.

// scaledObject is a ScaledObject of KEDA.
type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ScaleTargetRef struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int32 `json:"minReplicaCount"`
		MaxReplicaCount int32 `json:"maxReplicaCount"`
		PollingInterval int32 `json:"pollingInterval"`
		CooldownPeriod  int32 `json:"cooldownPeriod"`
		Advanced        struct {
			HorizontalPodAutoscalerConfig struct {
				Behavior struct {
					ScaleDown struct {
						StabilizationWindowSeconds int32 `json:"stabilizationWindowSeconds"`
					} `json:"scaleDown"`
				} `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type       string            `json:"type"`
			MetricType string            `json:"metricType"`
			Metadata   map[string]string `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// httpRoute is an HTTPRoute of the Gateway API.
type httpRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ParentRefs []struct {
			Group       string `json:"group"`
			Kind        string `json:"kind"`
			Name        string `json:"name"`
			Namespace   string `json:"namespace"`
			SectionName string `json:"sectionName"`
			Port        int32  `json:"port"`
		} `json:"parentRefs"`
		Hostnames []string `json:"hostnames"`
		Rules     []struct {
			Matches []struct {
				Path struct {
					Type  string `json:"type"`
					Value string `json:"value"`
				} `json:"path"`
			} `json:"matches"`
			Timeouts struct {
				Request string `json:"request"`
			} `json:"timeouts"`
			BackendRefs []struct {
				Name string `json:"name"`
				Port int32  `json:"port"`
			} `json:"backendRefs"`
		} `json:"rules"`
	} `json:"spec"`
}

// externalSecret is an ExternalSecret of the External Secrets operator.
type externalSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		RefreshInterval string `json:"refreshInterval"`
		SecretStoreRef  struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"secretStoreRef"`
		Target struct {
			Name string `json:"name"`
		} `json:"target"`
		Data []struct {
			SecretKey string `json:"secretKey"`
			RemoteRef struct {
				Key      string `json:"key"`
				Property string `json:"property"`
			} `json:"remoteRef"`
		} `json:"data"`
	} `json:"spec"`
}

// cluster is a Cluster of CloudNativePG.
type cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Instances int    `json:"instances"`
		ImageName string `json:"imageName"`
		Storage   struct {
			Size string `json:"size"`
		} `json:"storage"`
		Bootstrap struct {
			InitDB struct {
				Database               string   `json:"database"`
				Owner                  string   `json:"owner"`
				PostInitApplicationSQL []string `json:"postInitApplicationSQL"`
			} `json:"initdb"`
		} `json:"bootstrap"`
		Managed struct {
			Roles []struct {
				Name           string `json:"name"`
				Ensure         string `json:"ensure"`
				Login          bool   `json:"login"`
				PasswordSecret struct {
					Name string `json:"name"`
				} `json:"passwordSecret"`
			} `json:"roles"`
		} `json:"managed"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object.
func (o *cluster) DeepCopyObject() runtime.Object { return copied(o, &cluster{}) }

// DeepCopyObject implements runtime.Object.
func (o *scaledObject) DeepCopyObject() runtime.Object { return copied(o, &scaledObject{}) }

// DeepCopyObject implements runtime.Object.
func (o *httpRoute) DeepCopyObject() runtime.Object { return copied(o, &httpRoute{}) }

// DeepCopyObject implements runtime.Object.
func (o *externalSecret) DeepCopyObject() runtime.Object { return copied(o, &externalSecret{}) }

// copied copies an object by its JSON form, which has all of it.
func copied[T runtime.Object](from, to T) T {
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		panic(err) // unreachable: the types are plain data
	}
	return to
}

func addForeign(s *runtime.Scheme) {
	for version, kinds := range map[schema.GroupVersion]map[string]runtime.Object{
		{Group: kedaGroup, Version: "v1alpha1"}:             {"ScaledObject": &scaledObject{}},
		{Group: "gateway.networking.k8s.io", Version: "v1"}: {"HTTPRoute": &httpRoute{}},
		{Group: "external-secrets.io", Version: "v1"}:       {"ExternalSecret": &externalSecret{}},
		{Group: "postgresql.cnpg.io", Version: "v1"}:        {"Cluster": &cluster{}},
	} {
		for kind, object := range kinds {
			s.AddKnownTypeWithName(version.WithKind(kind), object)
		}
	}
}

// kedaGroup has an alpha version only, which its users rely on.
const kedaGroup = "keda.sh"
