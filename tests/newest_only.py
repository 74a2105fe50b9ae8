"""What `make test` leaves out on older Blenders.

The rule: the oldest Blender, 4.2, runs what its own API can break: registering, enabling and what
follows in the life of a file, operators and undo, actions and drivers, files of other programs,
one pose for each method and display, the GPU. What is listed here computes the same from the same
arrays, or repeats such a test with another rig, pose or setting. `make test-all` leaves out
nothing. A single case of a parametrised test gets `pytest.mark.newest_only` instead.
"""

# What only the newest Blender runs. Patterns of test ids; `?` stands for the bracket before
# parameters.
NEWEST_ONLY = (
    # Mathematics, and tests of the project itself.
    "tests/core/*",
    "tests/package/*",
    "tests/blender/test_ui_texts.py*",
    # `make soak` runs it on every Blender, for longer.
    "tests/blender/test_soak.py*",
    "tests/setup_check/test_rest_rotation.py*",
    "tests/gpu/test_demo*",
    "tests/blender/test_demo*",
    "tests/blender/test_quality_report.py*",
    "tests/gpu/test_example_poses.py::test_equals_numpy_in_and_between*False*",
    "tests/gpu/test_crowds.py::test_figures_equal_core?Wave*",
    "tests/gpu/test_crowds.py::test_nothing_that_shows_is_culled*",
    "tests/gpu/test_characters.py::test_blend_weights_equal_numpy*FITTED*",
    # Files of chunks, which Blender has no part in.
    "tests/blender/test_frame_chunks.py::test_chunks_that_do_not_fit*",
    "tests/blender/test_frame_chunks.py::test_chunks_are_joined*",
    "tests/blender/test_frame_chunks.py::test_files_that_are_no_chunks*",
    "tests/blender/test_frame_chunks.py::test_what_cannot_be_written*",
    # Other rigs: bones and weights differ, Blender does not.
    "tests/*cmu_mb*",
    "tests/blender/test_human_model.py*",
    "tests/blender/test_measured_compensation.py*",
    "tests/blender/test_core_against_armature_modifier.py*game_engine*",
    "tests/blender/test_modifier_deformation.py*game_engine*",
    "tests/blender/test_blend_group.py*game_engine*",
    # Other poses, scales, axes and settings of what `test_equals_core_in_any_pose` shows.
    "tests/blender/test_modifier_deformation.py::test_equals_core_with_scaled_bones*",
    "tests/blender/test_modifier_deformation.py::test_object_and_armature_with_different*",
    "tests/blender/test_modifier_deformation.py::test_limb_axes*",
    "tests/blender/test_modifier_deformation.py::test_evaluating_an_object_leaves*",
    "tests/blender/test_core_against_armature_modifier.py::test_scaled_bones*",
    "tests/blender/test_core_against_armature_modifier.py::test_every_bone_turned_anyhow*",
    "tests/blender/test_blend_group.py::test_weights_between_give_places_between*",
    "tests/blender/test_blend_group.py::test_the_modifier_equals_numpy*FITTED*",
    "tests/blender/test_blend_group.py::test_the_modifier_equals_numpy*DUAL_QUATERNION*",
    "tests/blender/test_blend_group.py::test_nothing_is_built_for_blending*",
    # Other modifiers of the same kinds: they make vertices, or change weights.
    "tests/blender/test_modifiers_before.py*mirror_three_axes*",
    "tests/blender/test_modifiers_before.py*solidify*",
    "tests/blender/test_modifiers_before.py*array*",
    "tests/blender/test_modifiers_before.py*decimate*",
    "tests/blender/test_modifiers_before.py*bevel*",
    "tests/blender/test_modifiers_before.py*weight_mix*",
    "tests/blender/test_modifiers_before.py*weight_proximity*",
    # Example poses: `test_an_enabled_character_follows_its_examples` and the operators stay.
    "tests/blender/test_example_poses.py::test_between_poses_the_surface_goes_smoothly*",
    "tests/blender/test_example_poses.py::test_at_an_example_pose_the_surface*",
    "tests/blender/test_example_poses.py::test_the_modifier_shows_what_numpy_computes*",
    "tests/blender/test_example_poses.py::test_other_keys_and_examples_of_other_bones*",
    "tests/blender/test_example_poses.py::test_examples_that_have_lost*",
    "tests/blender/test_example_poses.py::test_a_mirrored_example_gives*",
    "tests/blender/test_example_poses.py::test_a_second_example_of_a_bone*",
    "tests/blender/test_example_poses.py::test_examples_do_not_show_with_another_method*",
    "tests/blender/test_example_poses.py::test_what_is_sculpted_on_the_posed_copy*COMPENSATED*",
    "tests/blender/test_example_operators.py::test_update_from_a_mesh*",
    "tests/blender/test_example_operators.py::test_settings_of_a_bone_follow*",
    "tests/blender/test_example_operators.py::test_edit_is_refused_where_a_constraint*",
    "tests/blender/test_example_operators.py::test_the_first_example_corrects*",
    "tests/blender/test_example_operators.py::test_live_values_follow*",
    "tests/blender/test_example_operators.py::test_the_character_may_be_posed*",
    "tests/blender/test_example_files.py::test_wherever_the_bone_points*",
    "tests/blender/test_example_correctives.py::test_written_out_as_correctives*",
    "tests/blender/test_example_correctives.py::test_there_and_back_again*",
    # Takes: other motions of other rigs.
    "tests/blender/test_take_caching.py::test_motion_capture*",
    "tests/blender/test_take_caching.py::test_eighty_bones*",
    "tests/blender/test_take_caching.py::test_the_tolerance_is_in_millimetres*",
    # Crowds: what NumPy arranges, and sentences about settings.
    "tests/blender/test_crowds.py::test_asking_again*",
    "tests/blender/test_crowds.py::test_a_grid_is*",
    "tests/blender/test_crowds.py::test_two_splines*",
    "tests/blender/test_crowd_mishaps.py::test_no_role*",
    "tests/blender/test_crowd_mishaps.py::test_no_armature*",
    "tests/blender/test_crowd_mishaps.py::test_a_take_of_other_bones*",
    "tests/blender/test_crowd_mishaps.py::test_figures_beyond*",
    "tests/gpu/test_crowd_memory.py*",
    # Other interpolations and settings of what the passes do alike on every GPU.
    "tests/gpu/test_playback.py::*DUAL_QUATERNION-0.0*",
    "tests/gpu/test_playback.py::*SLERP-0.2*",
    "tests/gpu/test_playback.py::test_frames_allocate_nothing*",
    "tests/gpu/test_playback.py::test_takes_that_cannot*",
    "tests/gpu/test_batches.py::test_a_batch_looks_like*SOLID-False*",
    "tests/gpu/test_batches.py::test_copies_follow_their_example*",
    "tests/gpu/test_instanced_surface.py*1*",
    # Bakes of crowds: other characters and settings of what the first test shows.
    "tests/blender/test_crowd_baking.py::test_figures_are_where*0.01*",
    "tests/blender/test_crowd_baking.py::test_characters_of_all_kinds*two meshes*",
    "tests/blender/test_crowd_baking.py::test_velocities*",
    "tests/blender/test_crowd_baking.py::test_about_as_many*",
    "tests/blender/test_crowd_baking.py::test_much_memory*",
    "tests/blender/test_crowd_baking.py::test_an_absurd*",
    "tests/blender/test_crowd_baking.py::test_a_stopped_bake*",
    # The command line: options, and files that api writes. What Blender reads and saves stays.
    "tests/blender/test_command_line_page.py*",
    "tests/blender/test_command_line_stops.py*",
    "tests/blender/test_command_line_files.py::test_a_full_disk*",
    "tests/blender/test_command_line_files.py::test_caches_are*",
    "tests/blender/test_command_line_files.py::test_correctives_and*",
    # Weights that are computed in NumPy.
    "tests/blender/test_compensation_weights.py::test_the_start_from_the_transitions*",
    "tests/blender/test_compensation_weights.py::test_mirroring_copies_one_side*",
    "tests/blender/test_compensation_weights.py::test_topology_mirrors*",
    # Values of drivers and keys over many poses.
    "tests/blender/test_bones_poses.py*",
    "tests/blender/test_bones_report.py*",
    "tests/blender/test_helper_names.py*",
    "tests/blender/test_bake_correctives.py::test_values_do_not_jump*",
    "tests/blender/test_bake_correctives.py::test_the_baked_human_follows*elbow*",
    "tests/blender/test_bake_correctives.py::test_the_baked_human_follows*knee*",
    "tests/blender/test_bake_correctives.py::test_the_baked_human_follows*twist*",
    "tests/blender/test_bake_correctives.py::test_preserve_volume_can_be_the_target*",
    # What Setup Check measures from weights and rest bones.
    "tests/setup_check/test_weight_transition.py*",
    "tests/setup_check/test_bone_orientation.py*",
    "tests/setup_check/test_bone_hierarchy.py*",
    "tests/setup_check/test_unweighted_vertices.py*",
    "tests/setup_check/test_mirrored_weights.py*",
    "tests/setup_check/test_tiny_influences.py*",
    "tests/setup_check/test_weight_sums.py*",
)

# What Blender 4.5 leaves out besides: 5.2 and 4.2 run it, whose API each part of 4.5 shares.
# Enabling, files, undo, staleness, actions, shape keys, and the GPU stay.
NOT_BETWEEN = (
    # All but findings, fixes and imported rigs.
    "tests/setup_check/test_[!fi]*",
    "tests/blender/test_bake_correctives.py*",
    "tests/blender/test_bendy_bones.py*",
    "tests/blender/test_bendy_joints.py*",
    "tests/blender/test_blend_group.py*",
    "tests/blender/test_command_line*",
    "tests/blender/test_bone_transforms.py*",
    "tests/blender/test_chunk_commands.py*",
    "tests/blender/test_compensation_weights.py*",
    "tests/blender/test_crowd_mishaps.py*",
    "tests/blender/test_crowds.py*",
    "tests/blender/test_example_correctives.py*",
    "tests/blender/test_example_operators.py*",
    "tests/blender/test_frame_chunks.py*",
    "tests/blender/test_mesh_joints.py*",
    "tests/blender/test_modifier_deformation.py*",
    "tests/blender/test_shapes_and_supports.py*",
    "tests/blender/test_rigify_human.py*",
    "tests/gpu/test_bendy_bones.py::test_the_rigify_human*",
    "tests/blender/test_armature_base.py::test_a_rigify_human*",
)
