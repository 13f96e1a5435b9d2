{{- define "pointsman.name" -}}
{{- printf "%s-state" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "pointsman.selector" -}}
app.kubernetes.io/name: pointsman-state
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pointsman.labels" -}}
{{ include "pointsman.selector" . }}
app.kubernetes.io/part-of: pointsman
{{- end -}}

{{- define "pointsman.meta" -}}
name: {{ include "pointsman.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "pointsman.labels" . | nindent 2 }}
{{- end -}}

{{/* Where the engines are; empty for every namespace. */}}
{{- define "pointsman.engineNamespace" -}}
{{- if not .Values.discovery.clusterWide -}}
{{- .Values.discovery.namespace | default .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/* The configuration with what other values say of it. */}}
{{- define "pointsman.config" -}}
{{- range $key := list "listen" "token_env" "tls" -}}
{{- if hasKey $.Values.config $key -}}
{{- fail (printf "config.%s: is set by the values port, token and tls; remove it" $key) -}}
{{- end -}}
{{- end -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "listen" (printf "0.0.0.0:%d" (int .Values.port)) -}}
{{- if .Values.token.secretName -}}
{{- $_ := set $config "token_env" "POINTSMAN_STATE_TOKEN" -}}
{{- end -}}
{{- if .Values.tls.secretName -}}
{{- $_ := set $config "tls" (dict "cert_file" "/etc/pointsman-tls/tls.crt" "key_file" "/etc/pointsman-tls/tls.key") -}}
{{- end -}}
{{- if .Values.discovery.enabled -}}
{{- $discovery := $config.discovery | default dict -}}
{{- if hasKey $discovery "kubernetes" -}}
{{- fail "config.discovery.kubernetes: is set by the value discovery; remove it" -}}
{{- end -}}
{{- $kubernetes := merge (dict "enabled" true "namespace" (include "pointsman.engineNamespace" .)) .Values.discovery.settings -}}
{{- $_ := set $config "discovery" (merge (dict "kubernetes" $kubernetes) $discovery) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
