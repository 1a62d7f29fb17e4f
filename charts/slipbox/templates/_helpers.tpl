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

{{/* The volumes of a pod: /tmp, the settings file, and extraVolumes. */}}
{{- define "slipbox.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .Values.tmpSize }}}
{{- with .Values.config.existingConfigMap }}
- name: config
  configMap: {name: {{ . | quote }}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "slipbox.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .Values.config.existingConfigMap }}
- {name: config, mountPath: /etc/slipbox, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
