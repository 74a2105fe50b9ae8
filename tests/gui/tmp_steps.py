
from steps_tools import *
def details(step):
    window = step.window
    yield from step.enable()
    yield from window.open_panel('page="baking"')
    for button in ("dqc.bake_bones", "dqc.bake_correctives", "dqc.bake_range"):
        yield from window.press(button, 0.25)
        yield from window.wait(20)
        x, y = window.at
        step.show(button)
        yield from window.click((x - 360 + 30, y - 55 + (0 if "bones" in button else -23)))
        yield from window.wait(20)
        step.show(button + " details")
        yield from window.key("ESC")
        yield from window.wait(20)
    with bpy.context.temp_override(window=window.window, area=window.area):
        pass
