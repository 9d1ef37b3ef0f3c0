"""Just enough of SVG for the plots, and PNG through a renderer where one is installed."""
import pathlib
import shutil
import subprocess

GREY, LIGHT, DARK, RED = "#556", "#e3e6ea", "#667", "#c02a2a"


class Canvas:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui, DejaVu Sans, sans-serif" font-size="12" fill="#223">',
            f"<title>{escape(title)}</title>", '<rect width="100%" height="100%" fill="#fff"/>']

    def text(self, x, y, words, anchor="middle", extra=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(words)}</text>')

    def rect(self, x, y, width, height, fill):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>')

    def line(self, points, stroke, extra=""):
        path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
        self.parts.append(f'<path d="{path}" stroke="{stroke}" fill="none" {extra}/>')

    def dot(self, x, y, fill):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{fill}"/>')

    def render(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def escape(words):
    return str(words).replace("&", "&amp;").replace("<", "&lt;")


def write_png(svg_file, png_file):
    """Renders an SVG file with rsvg-convert at twice its size. Why not, where that is not to be had; else None."""
    if not shutil.which("rsvg-convert"):
        return f"{pathlib.Path(png_file).name} is not made: rsvg-convert is not installed (Debian: librsvg2-bin)"
    subprocess.run(["rsvg-convert", "--zoom", "2", "--output", png_file, svg_file], check=True)
    return None
