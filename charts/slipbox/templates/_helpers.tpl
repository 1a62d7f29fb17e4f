{{- define "slipbox.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The base name of the release's objects. With the longest suffix ("-gateway", "-migrate") it has at most 63 characters. */}}
{{- define "slipbox.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "slipbox.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "slipbox.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the pods of a component; they are immutable. Takes {root, component}. */}}
{{- define "slipbox.selector" -}}
app.kubernetes.io/name: {{ include "slipbox.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "slipbox.labels" -}}
{{ include "slipbox.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") }}
{{- end -}}

{{- define "slipbox.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "slipbox.fullname" .) -}}
{{- end -}}

{{- define "slipbox.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A quantity in bytes. Takes a number with Mi or Gi, the units that the schema allows for memory limits. */}}
{{- define "slipbox.bytes" -}}
{{- $n := regexFind "^[0-9]+" . | int64 -}}
{{- ternary (mul $n 1024 1024 1024) (mul $n 1024 1024) (hasSuffix "Gi" .) -}}
{{- end -}}

{{/* An environment variable from a Secret. Takes {env, ref}. */}}
{{- define "slipbox.secretVar" -}}
- name: {{ .env }}
  valueFrom:
    secretKeyRef: {name: {{ .ref.name | quote }}, key: {{ .ref.key | quote }}}
{{- end -}}

{{- define "slipbox.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "slipbox.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The volumes of a pod: /tmp, the settings file, and extraVolumes. Takes {root, configMap}; configMap "" is none. */}}
{{- define "slipbox.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .root.Values.tmpSize }}}
{{- with .configMap }}
- name: config
  configMap: {name: {{ . | quote }}}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "slipbox.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if include "slipbox.configMap" . }}
- {name: config, mountPath: /etc/slipbox, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The settings of a component that are not secret, as JSON: the common ones and its own. Takes {root, component}. */}}
{{- define "slipbox.settings" -}}
{{- merge (dict) (index .root.Values .component).settings .root.Values.settings | toJson -}}
{{- end -}}

{{/* The ConfigMap with the settings file; empty when there is none. */}}
{{- define "slipbox.configMap" -}}
{{- if .Values.config.existingConfigMap -}}
{{ .Values.config.existingConfigMap }}
{{- else if .Values.config.inline -}}
{{ include "slipbox.fullname" . }}
{{- end -}}
{{- end -}}

{{/*
The ports outside of the cluster's DNS that a component reaches because its settings name them: collectors of telemetry,
models, embedders and proxies. A JSON list of numbers. Takes {root, component}.
*/}}
{{- define "slipbox.settingsPorts" -}}
{{- $ports := list -}}
{{- range $env, $value := include "slipbox.settings" . | fromJson -}}
{{- if regexMatch "^(OTEL_EXPORTER_OTLP_([A-Z]+_)?ENDPOINT|SLIPBOX_(LLM|EMBED)_BASE_URL|HTTPS?_PROXY)$" $env -}}
{{- if not (regexMatch "^https?://[^/]+" $value) -}}
{{- fail (printf "settings.%s is %q: with networkPolicy.enabled it must be a URL that begins with http:// or https://, so that its port can be opened" $env $value) -}}
{{- end -}}
{{- $port := regexFind ":[0-9]+$" (regexFind "^https?://[^/]+" $value) | trimPrefix ":" -}}
{{- if not $port -}}
{{- $port = ternary "443" "80" (hasPrefix "https://" $value) -}}
{{- end -}}
{{- $ports = append $ports (int $port) -}}
{{- end -}}
{{- end -}}
{{- $ports | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/* The address of a pod in telemetry, as environment variables, and the attributes that the settings add. Takes the settings. */}}
{{- define "slipbox.podAttributes" -}}
{{- range $env, $path := dict "K8S_POD_NAME" "metadata.name" "K8S_NAMESPACE_NAME" "metadata.namespace" "K8S_NODE_NAME" "spec.nodeName" }}
- name: {{ $env }}
  valueFrom:
    fieldRef: {fieldPath: {{ $path }}}
{{- end }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: {{ printf "k8s.pod.name=$(K8S_POD_NAME),k8s.namespace.name=$(K8S_NAMESPACE_NAME),k8s.node.name=$(K8S_NODE_NAME)%s" (ternary (printf ",%s" (index . "OTEL_RESOURCE_ATTRIBUTES")) "" (hasKey . "OTEL_RESOURCE_ATTRIBUTES")) | quote }}
{{- end -}}

{{/* The path prefixes of the doors that are open, as a list in JSON. */}}
{{- define "slipbox.doors" -}}
{{- $paths := list }}
{{- range $name, $open := .Values.doors }}
{{- if $open }}{{ $paths = append $paths (printf "/%s" $name) }}{{ end }}
{{- if and $open (eq $name "mcp") }}
{{- $paths = concat $paths (list "/oauth" "/.well-known/oauth-protected-resource" "/.well-known/oauth-authorization-server" "/.well-known/openid-configuration") }}
{{- end }}
{{- end }}
{{- $paths | toJson }}
{{- end }}
