// Package svg makes uploaded SVG drawings safe. It parses a drawing as XML and writes a new one that has
// only elements, attributes and values from an allow list: shapes, text, gradients, patterns and internal
// references. The result has no scripts, event handlers, style sheets, animations, external references or
// entities.
package svg
