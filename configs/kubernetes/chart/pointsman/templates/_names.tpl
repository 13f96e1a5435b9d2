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

{{/* The configuration with what other values say of it. */}}
{{- define "pointsman.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.token.secretName -}}
{{- $_ := set $config "token_env" "POINTSMAN_STATE_TOKEN" -}}
{{- end -}}
{{- if .Values.tls.secretName -}}
{{- $_ := set $config "tls" (dict "cert_file" "/etc/pointsman-tls/tls.crt" "key_file" "/etc/pointsman-tls/tls.key") -}}
{{- end -}}
{{- if not (hasSuffix (printf ":%d" (int .Values.port)) ($config.listen | default "")) -}}
{{- fail (printf "config.listen: %q has another port than port: %d; write 0.0.0.0:%d" ($config.listen | default "") (int .Values.port) (int .Values.port)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
