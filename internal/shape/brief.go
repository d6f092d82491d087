package shape

// Brief is the shape as a JSON Schema for a model: with every request it is sent again, so
// it leaves out what a model does not need to call a tool well. Check holds all the same.
func (s *Shape) Brief() map[string]any { return brief(s.Schema()) }

func brief(schema map[string]any) map[string]any {
	delete(schema, "additionalProperties")
	delete(schema, "minLength")
	if most, ok := schema["maximum"].(float64); ok && most >= 1<<53-1 {
		delete(schema, "maximum")
	}
	if least, ok := schema["minimum"].(float64); ok && least <= 1 {
		delete(schema, "minimum")
	}
	if items, ok := schema["items"].(map[string]any); ok {
		brief(items)
	}
	if all, ok := schema["properties"].(map[string]any); ok {
		for _, one := range all {
			brief(one.(map[string]any))
		}
	}
	if several, ok := schema["anyOf"].([]any); ok {
		for _, one := range several {
			brief(one.(map[string]any))
		}
	}
	return schema
}
