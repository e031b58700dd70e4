{{- define "millstream.cluster" -}}
{{ .Values.cluster.name | default .Release.Name }}
{{- end -}}

{{- define "millstream.image" -}}
{{- $registry := .root.Values.images.registry -}}
{{ if $registry }}{{ trimSuffix "/" $registry }}/{{ end }}millstream-{{ .role }}:{{ .tag | default .root.Values.images.tag }}
{{- end -}}

{{- define "millstream.operatorImage" -}}
{{ include "millstream.image" (dict "root" . "role" "operator" "tag" .Values.operator.imageTag) }}
{{- end -}}

{{- define "millstream.labels" -}}
app.kubernetes.io/part-of: millstream
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "millstream.consoleLabels" -}}
app.kubernetes.io/name: millstream-console
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* The namespaces that the operator looks after, with commas between them. */ -}}
{{- define "millstream.namespaces" -}}
{{ prepend (.Values.operator.namespaces | default list) .Release.Namespace | uniq | join "," }}
{{- end -}}

{{- define "millstream.podSecurity" -}}
{runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
{{- end -}}

{{- define "millstream.containerSecurity" -}}
{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end -}}

{{- /* A server property as text: numbers of a values file are floats to Helm, and must not become 1e+06. */ -}}
{{- define "millstream.property" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}
