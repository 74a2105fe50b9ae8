import bpy

settings = bpy.context.object.dq_compensation
settings.method = "COMPENSATED"
settings.factor = 1.0
settings.curve = "MEASURED"
settings.use_ball_joints = True
settings.softness = 0.5
settings.twist_spread = 0.0
settings.use_solved_shapes = False
